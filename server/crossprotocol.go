package server

import (
	"bytes"
	"time"
)

// Cross-protocol scripting: a web page can make a browser send a POST request to any port
// of the loopback, and a line of its body may be a command. Such a request has POST as the
// first word of its first line, or Host: as that of a later one, and ends the connection
// there: nothing behind it is run, and it has no reply.

// crossingWords are the first words of a request that a browser has made, in lower case.
var crossingWords = [...]string{"post", "host:"}

// crossingEvery is how often such requests are logged: a page may make many.
const crossingEvery = time.Minute

// crosses reports whether the name of a call that is no command is a word of HTTP. As in
// Redis, what is behind a zero byte does not count.
func crosses(name []byte) bool {
	name, _, _ = bytes.Cut(name, []byte{0})
	for _, word := range crossingWords {
		if len(name) == len(word) && bytes.EqualFold(name, []byte(word)) {
			return true
		}
	}
	return false
}

// endCrossing disconnects a client that speaks HTTP. The replies to the calls before leave
// first.
func (s *session) endCrossing() {
	s.closing = true
	now := s.turn.millis()
	last := s.srv.crossed.Load()
	if last > 0 && now-last < crossingEvery.Milliseconds() || !s.srv.crossed.CompareAndSwap(last, now) {
		return
	}
	s.srv.logf(logWarning, "Possible SECURITY ATTACK detected: client %s sent a word of HTTP, POST or Host:, in place of a command. "+
		"A web page may be using a browser to write to this server. The connection was closed, and nothing behind that word was run.", s.address())
}
