# fish completion of kiln: asks the kiln in PATH what may follow.
complete --command kiln --no-files --keep-order --arguments \
    '(command kiln __complete fish (commandline -opc) (commandline -ct) 2>/dev/null)'
