# A terminal in which a script types like a person, and a simulator as the service. The scripts in
# this directory source it. It needs tmux and bash; `kiln` is the one in PATH.

name=kiln-$$
HOME=$(mktemp -d /tmp/kiln.XXXXXX)
export HOME
unset XDG_STATE_HOME XDG_CONFIG_HOME TMUX

finish() {
  tmux -L "$name" kill-server 2> "$HOME/tmux.log" || true
  kill "$simulator"
  wait "$simulator" || true
  rm -rf "$HOME"
}
trap finish EXIT

# Starts a simulator with these options, and sets `base_url` and `key`.
simulate() {
  mkfifo "$HOME/settings"
  kiln simulate --port 0 --seed 7 --json "$@" > "$HOME/settings" &
  simulator=$!
  read -r settings < "$HOME/settings"
  base_url=$(printf '%s' "$settings" | sed 's/.*"base_url":"\([^"]*\)".*/\1/')
  key=$(printf '%s' "$settings" | sed 's/.*"api_key":"\([^"]*\)".*/\1/')
}

# Opens the terminal. bash signals each of its prompts, and clears what is below it.
open_terminal() {
  mkdir "$HOME/work"
  tmux -L "$name" -f /dev/null new-session -d -x "${columns:-110}" -y "${rows:-300}" -c "$HOME/work" \
    "env HISTFILE= PS1='\[\e[J\]\$ ' PROMPT_COMMAND='tmux -L $name wait-for -S prompt' bash --norc --noprofile"
  until_prompt
}

# Types a line.
enter() {
  tmux -L "$name" send-keys -l "$1"
  tmux -L "$name" send-keys Enter
}

# Types a command, and waits until it has ended.
run() {
  enter "$1"
  until_prompt
}

# bash signals just before it shows its prompt.
until_prompt() {
  tmux -L "$name" wait-for prompt
  until [ "$(shown | awk 'NF { last = $0 } END { print last }')" = '$' ]; do sleep 0.05; done
}

# Waits until the terminal shows a text.
until_shown() {
  until shown | grep -qF -- "$1"; do sleep 0.1; done
}

shown() {
  tmux -L "$name" capture-pane -p -J | sed -e 's/ *$//'
}

# Whether a batch has saved pictures, and has no more to submit.
all_submitted() {
  kiln batch status --ledger "$HOME/work/pictures" > "$HOME/status" 2> "$HOME/status.log" &&
    grep -q '^saved ' "$HOME/status" && ! grep -qE '^(queued|submitting) ' "$HOME/status"
}

# Kills the batch that runs in the terminal. A kill during a submission would leave a job that only a
# person can resolve.
kill_batch() {
  until all_submitted; do sleep 0.1; done
  pkill -KILL -f 'kiln batch run jobs.csv' --parent "$(tmux -L "$name" display -p '#{pane_pid}')"
  until_prompt
}

# Keeps what the terminal shows each time it has changed, with its time, until `recorded` prints it.
record() {
  while tmux -L "$name" capture-pane -e -p > "$HOME/now" 2> "$HOME/record.log"; do
    if ! cmp -s "$HOME/now" "$HOME/before"; then
      printf '\f%s\n' "$(date +%s%3N)"
      cat "$HOME/now"
      mv "$HOME/now" "$HOME/before"
    fi
    sleep 0.2
  done > "$HOME/frames" &
  recorder=$!
}

recorded() {
  sleep 0.5
  kill "$recorder"
  wait "$recorder" || true
  sed "s|$HOME|~|g" "$HOME/frames"
}

# Prints what the terminal shows, without the last prompt and without pictures in half blocks.
transcript() {
  shown | sed "s|$HOME|~|g" | grep -v "^▀" | awk '
    { lines[NR] = $0; if ($0 != "" && $0 != "$") last = NR }
    END { for (at = 1; at <= last; at++) print lines[at] }'
}
