#!/bin/sh
# The first hour with many pictures: from a CSV file with 200 prompts, through Ctrl-C and kill -9,
# to a page with all pictures, and a gallery. Each job is paid for once.
set -eu
. "$(dirname "$0")/terminal.sh"

simulate --ready-after 1
open_terminal
run "export IMAGEKILN_BASE_URL=$base_url IMAGEKILN_API_KEY=$key; kiln config set max_active 24; clear"

saved() { find "$HOME/work/pictures" -name '*.png' 2> "$HOME/find.log" | wc -l; }

run 'for n in $(seq 200); do echo "a red fox in the snow,$n,64,64,png"; done > rows.csv'
run '(echo prompt,seed,width,height,output_format; cat rows.csv) > jobs.csv'
run 'kiln batch run jobs.csv -o pictures --dry-run'

enter 'kiln batch run jobs.csv -o pictures'
until [ "$(saved)" -ge 40 ]; do sleep 0.1; done
tmux -L "$name" send-keys C-c
until_prompt

enter 'kiln batch run jobs.csv -o pictures --quiet'
kill_batch

run 'kiln batch run jobs.csv -o pictures'
run 'kiln batch status --ledger pictures'
run 'kiln spending --ledger pictures'
run 'kiln batch report --ledger pictures'
run 'ls pictures/*.png | wc -l'
run 'kiln gallery -o gallery'

transcript
