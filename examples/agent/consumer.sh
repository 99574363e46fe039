#!/bin/sh
# A consumer of the mode protocol (docs/agent-protocol.md) in another language: reads the keys of a mounted ConfigMap
# and prints rca_mode_active as Prometheus text, once or every few seconds into a file that a web server hands out.
#   consumer.sh FOLDER KEY...                      once, to standard output
#   RCA_OUT=/tmp/www/metrics consumer.sh FOLDER KEY...   every $RCA_SECONDS (2) seconds, into that file
# RCA_REVISION is the consumer's own revision, for values such as Active@2026.11.30.
# Every doubt is Shadow. Values are compared byte by byte, as hexadecimal digits: a shell drops NUL bytes from text.
set -u
LC_ALL=C
export LC_ALL
LIMIT=4096

hex() { od -An -v -tx1 | tr -d ' \n'; }

# The value of $1 without white space around it, as hexadecimal digits; nothing at all if it is none.
value_of() {
  [ -f "$1" ] && [ -r "$1" ] || return 0
  digits=$(head -c $((LIMIT + 1)) "$1" 2>/dev/null | hex)
  [ ${#digits} -le $((2 * LIMIT)) ] || return 0
  while :; do
    case $digits in
      20* | 09* | 0a* | 0d*) digits=${digits#??} ;;
      *20 | *09 | *0a | *0d) digits=${digits%??} ;;
      *) break ;;
    esac
  done
  printf %s "$digits"
}

# 1 if key $2 in folder $1 is Active for this consumer, else 0.
is_active() {
  case $2 in
    '' | . | ..* | *[!-._A-Za-z0-9]*) echo 0; return ;;
  esac
  found=$(value_of "$1/$2")
  if [ "$found" = "$ACTIVE" ]; then echo 1
  elif [ -n "${RCA_REVISION:-}" ] && [ "$found" = "$ACTIVE_HERE" ]; then echo 1
  else echo 0; fi
}

report() {
  echo '# HELP rca_mode_active 1 if the component governs in this process.'
  echo '# TYPE rca_mode_active gauge'
  for key in "$@"; do
    printf 'rca_mode_active{component="%s"} %s\n' "$key" "$(is_active "$folder" "$key")"
  done
}

[ $# -ge 2 ] || { echo "usage: consumer.sh FOLDER KEY..." >&2; exit 2; }
folder=$1
shift
ACTIVE=$(printf Active | hex)
ACTIVE_HERE=$(printf 'Active@%s' "${RCA_REVISION:-}" | hex)
[ -n "${RCA_OUT:-}" ] || { report "$@"; exit 0; }
while :; do
  report "$@" >"$RCA_OUT.new" && mv "$RCA_OUT.new" "$RCA_OUT"
  sleep "${RCA_SECONDS:-2}"
done
