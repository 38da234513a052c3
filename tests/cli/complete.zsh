# Shows what zsh would offer after $WORDS.
compdef() { }
compadd() { print -rl -- "${completions[@]}" }
_describe() { print -rl -- "${completions_with_descriptions[@]%%:*}" }
source "$SCRIPT"
eval "words=($WORDS)"
CURRENT=${#words}
_boardlot_completion
