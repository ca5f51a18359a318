#!/bin/sh
# A batch that is killed in the middle, and continues. Prints what the terminal shows over time.
set -eu
columns=90 rows=20
. "$(dirname "$0")/terminal.sh"

simulate --ready-after 2 --ready-after-spread 0.8
open_terminal
run "export IMAGEKILN_BASE_URL=$base_url IMAGEKILN_API_KEY=$key"
run 'for n in $(seq 60); do echo "a red fox,$n,64,64"; done > rows.csv'
run '(echo prompt,seed,width,height; cat rows.csv) > jobs.csv'
run clear
record

run 'tail -n 2 jobs.csv'
enter 'kiln batch run jobs.csv -o pictures'
kill_batch
run 'ls pictures/*.jpg | wc -l'

run 'kiln batch run jobs.csv -o pictures'
run 'kiln spending --ledger pictures'
run 'ls pictures/*.jpg | wc -l'

recorded
