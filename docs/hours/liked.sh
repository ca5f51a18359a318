#!/bin/sh
# The first hour with one picture: from nothing to a picture one likes, compared, varied, and made
# again larger.
set -eu
. "$(dirname "$0")/terminal.sh"

simulate --ready-after 0.2
open_terminal

enter "kiln setup"
until_shown "Base URL of the service"
enter "$base_url"
until_shown "API key of profile"
enter "$key"
until_shown "[y/N]"
enter "y"
until_prompt

run 'kiln generate "a lighthouse on a cliff at dusk" -s 256x192 -n 4 -o "lighthouse-{index}.png"'
run 'kiln history lighthouse'
run 'kiln show @3'
run 'kiln again @3 -m gen-2-flex --vary guidance=3,5,7 -o "{name}.png"'
run 'kiln again @3 -s 1024x768 -o large.png'
run 'kiln edit "in a storm" large.png -s 1024x768 -o storm.png'
run 'kiln history --limit 3 --tree'
run 'kiln gallery -o gallery'
run 'kiln spending'

transcript
