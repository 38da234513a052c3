# Shows what fish would offer after $TYPED.
source $SCRIPT
complete -C $TYPED | string replace -r '\t.*' ''
true
