# elvish completion of kiln: asks the kiln in PATH what may follow.
use str
set edit:completion:arg-completer[kiln] = {|@words|
    e:kiln __complete elvish $@words 2>/dev/null | from-lines | each {|line|
        var value @help = (str:split "\t" $line)
        var display = $value
        if (> (count $help) 0) {
            set display = $value'  ('$help[0]')'
        }
        var suffix = ' '
        if (str:has-suffix $value /) {
            set suffix = ''
        }
        edit:complex-candidate $value &display=$display &code-suffix=$suffix
    }
}
