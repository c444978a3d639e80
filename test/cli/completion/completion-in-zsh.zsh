# Types lines into an interactive zsh that has the completion script, presses the key for completion after each, and prints
# what the line has become:  zsh -f completion-in-zsh.zsh SCRIPT LINE …
zmodload zsh/zpty
zpty -b shell zsh -f -i

# What the shell writes, until it matches a pattern.
read_until() {
  local part
  text=''
  until [[ $text == *$~1* ]]; do
    if zpty -r -t shell part; then text+=$part; else sleep 0.02; fi
  done
}

zpty -w shell "autoload -Uz compinit; compinit -u -D; source $1
show() { print -r -- \"<<\$BUFFER>>\"; BUFFER=''; zle -I }
zle -N show; bindkey '^T' complete-word; bindkey '^X' show; print re''ady"
read_until ready
shift
for line in "$@"; do
  zpty -w -n shell "$line"$'\C-t\C-x'
  read_until '<<*>>'
  print -r -- "${${text##*<<}%%>>*}"
done
