# Shows what bash would offer after $WORDS.
source "$SCRIPT"
eval "COMP_WORDS=($WORDS)"
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_boardlot_completion boardlot
printf '%s\n' "${COMPREPLY[@]}"
