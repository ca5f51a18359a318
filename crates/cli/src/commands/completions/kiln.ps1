# PowerShell completion of kiln: asks the kiln in PATH what may follow.
Register-ArgumentCompleter -Native -CommandName kiln -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $kiln = Get-Command kiln -CommandType Application -TotalCount 1 -ErrorAction SilentlyContinue
    if (-not $kiln) { return }
    # The words before the cursor, as they are typed: expressions among them are not evaluated.
    $words = @($commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($_.Value -is [string]) { $_.Value } else { $_.Extent.Text } })
    # Old versions do not pass empty arguments on, so the last one starts with `=`.
    & $kiln __complete powershell @words "=$wordToComplete" 2>$null | ForEach-Object {
        $value, $help = $_ -split "`t", 2
        if (-not $help) { $help = $value }
        $text = $value
        if ($value -match '[^\w\-./\\:=+]') { $text = "'" + $value.Replace("'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $help)
    }
}
