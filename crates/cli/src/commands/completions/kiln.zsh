#compdef kiln
# zsh completion of kiln: asks the kiln in PATH what may follow.
_kiln() {
    # zsh itself replaces a `~`.
    if [[ $PREFIX == \~* ]]; then
        _files
        return
    fi
    # zsh would list candidates with the same help side by side, and count the empty places too.
    zstyle ':completion:*:*:kiln:*' list-grouped false
    local line ret=1
    local -a values directories
    for line in "${(@f)$(command kiln __complete zsh "${(@)words[1,CURRENT-1]}" "$IPREFIX$PREFIX" 2>/dev/null)}"; do
        if [[ $line == */ && $line != *:* ]]; then
            directories+=("$line")
        elif [[ -n $line ]]; then
            values+=("$line")
        fi
    done
    (( $#values )) && _describe -V kiln values && ret=0
    (( $#directories )) && _describe -V kiln directories -S '' && ret=0
    return ret
}
# In a directory of fpath, this file is the body of the function.
if [[ $funcstack[1] == _kiln ]]; then
    _kiln "$@"
else
    compdef _kiln kiln
fi
