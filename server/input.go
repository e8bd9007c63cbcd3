package server

import (
	"io"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/blocking"
	"github.com/vigildb/vigil/server/resp"
	"github.com/vigildb/vigil/structures"
)

// minUnauthRead is the space offered to a read of a client that has yet to
// authenticate.
const minUnauthRead = 1 << 10

// input is what a client has sent and the session has not run: bytes, and the calls
// that are framed in them. Only the owner of the session uses it.
type input struct {
	buf    []byte // received, from readAt on not consumed yet
	readAt int
	// borrowed is set while buf belongs to the transport and not to the client.
	borrowed bool
	given    bool // an argument of the running call, most of buf, was handed over to its handler
	framer   resp.Framer

	args  [][]byte // room for the arguments of one call
	argv  [][]byte // of the call that runs
	seen  seen     // of that call
	ahead *lookahead

	paused bool     // CLIENT PAUSE holds back the call in held
	held   [][]byte // a copy, as buf moves and inline arguments were unquoted
}

// unread is the number of bytes received and not consumed.
func (in *input) unread() int { return len(in.buf) - in.readAt }

// pending reports whether there may be a call to run.
func (in *input) pending() bool { return in.unread() > 0 || in.held != nil }

// space makes room for a read and returns it. The bytes not consumed yet are
// moved to the front; the buffer grows only as bytes have really arrived.
func (in *input) space() []byte {
	if in.readAt > 0 {
		n := structures.Copy(in.buf, in.buf[in.readAt:])
		in.buf, in.readAt = in.buf[:n], 0
	}
	if free := cap(in.buf) - len(in.buf); free < min(in.room()/4, in.framer.Need()) {
		in.buf = structures.GrowTo(in.buf, len(in.buf)+in.room())
	}
	return in.buf[len(in.buf):cap(in.buf)]
}

// room is how much the buffer grows at once.
func (in *input) room() int {
	if !in.framer.Authenticated() {
		return minUnauthRead
	}
	return in.framer.Room(len(in.buf))
}

// append takes n bytes that were read into space.
func (in *input) append(n int) { in.buf = in.buf[:len(in.buf)+n] }

// borrow takes n bytes of b, which belongs to the transport, until giveBack. There
// must be nothing unread.
func (in *input) borrow(b []byte) (own []byte) {
	own = in.buf[:0]
	in.buf, in.readAt, in.borrowed = b[:0], 0, true
	return own
}

// giveBack copies what is left of borrowed bytes into own.
func (in *input) giveBack(own []byte) {
	in.buf, in.readAt, in.borrowed = append(own, in.buf[in.readAt:]...), 0, false
}

// found returns the call that was held back, or the next one that the lookahead
// found, and its length in bytes. ok is false if there is neither.
func (in *input) found() (argv [][]byte, n int, ok bool) {
	if in.held != nil {
		in.args = append(in.args[:0], in.held...)
		in.argv, in.seen = in.args, seen{}
		return in.argv, 0, true
	}
	if in.ahead == nil {
		return nil, 0, false
	}
	c, ok := in.ahead.pop()
	if !ok {
		return nil, 0, false
	}
	in.argv, in.seen = c.argv, c.seen
	return c.argv, c.size, true
}

// frame returns the next call of the buffer and its length in bytes, 0 if it is
// incomplete. A call may be empty. An error is a protocol error of the client.
func (in *input) frame() (argv [][]byte, n int, err error) {
	in.seen = seen{}
	argv, n, err = in.framer.Next(in.buf[in.readAt:], in.args[:0])
	if err == nil && len(argv) > 0 {
		in.args, in.argv = argv, argv
	}
	return argv, n, err
}

// hold keeps a call until the end of CLIENT PAUSE.
func (in *input) hold(argv [][]byte) {
	if in.paused = true; in.held == nil {
		in.held = blocking.CopyArgs(argv)
	}
}

// give hands an argument of the running call over to its handler if it is most
// of the buffer, and reports whether it did: a value of 512 MB is in memory
// only once, and is not copied under a lock.
func (in *input) give(arg []byte) bool {
	if in.borrowed || in.held != nil || in.given || len(arg) < cap(in.buf)-cap(in.buf)/8 {
		return false
	}
	in.given = true
	return true
}

// renew starts a new buffer, because an argument in the old one was handed over.
func (in *input) renew() {
	in.forgetAhead()
	in.buf, in.readAt, in.given = structures.Clone(in.buf[in.readAt:]), 0, false
	clear(in.args[:cap(in.args)]) // they hold the old one
	in.argv = nil
}

// shrink empties a buffer whose content is consumed, and frees the memory that a
// big command needed.
func (in *input) shrink() {
	in.buf, in.readAt = in.buf[:0], 0
	if cap(in.buf) > keepBuffer && !in.borrowed {
		in.buf = nil
		clear(in.args[:cap(in.args)]) // they hold the buffer
	}
	if cap(in.args) > keepArgs {
		in.args = nil
	}
}

// bufferBytes is the memory of the client's own buffer.
func (in *input) bufferBytes() int {
	if in.borrowed {
		return in.unread() // giveBack will copy it
	}
	return cap(in.buf)
}

// heldBytes is the memory of the call that is held back.
func (in *input) heldBytes() (n int64) {
	for _, a := range in.held {
		n += int64(len(a)) + 24
	}
	return n
}

// Unread is the number of bytes received and not run.
func (s *session) Unread() int { return s.in.unread() }

// Space makes room for a read and returns it.
func (s *session) Space() []byte { return s.in.space() }

// FeedBorrowed runs what is complete in b, which the session may use until it
// returns; the rest is copied. The session has nothing unread.
func (s *session) FeedBorrowed(b []byte) error {
	own := s.in.borrow(b)
	err := s.Feed(len(b))
	s.in.giveBack(own)
	return err
}

// Feed takes n bytes that were read into Space and runs what is complete. After an
// error the client is disconnected without a reply.
func (s *session) Feed(n int) error {
	s.in.append(n)
	s.srv.stats.inputBytes.Add(int64(n))
	s.totals.input += int64(n)
	s.srv.stats.reads.Add(1)
	set := s.srv.settings()
	// Queued calls are input that was not run yet.
	if int64(s.in.unread()+s.transaction.queueBytes) > set.queryBuffer {
		s.srv.stats.queryLimitDrops.Add(1)
		s.srv.logf(logWarning, "closing client %d: query buffer over its limit", s.ID)
		return errQueryBuffer
	}
	s.in.framer.SetMaxBulk(set.limits.MaxBulk)
	if s.in.unread() > keepBuffer {
		s.foot.weigh() // a call that is too heavy does not run
	}
	return s.run()
}

// next returns the next call, and how many bytes n are to be consumed. ok is false if
// there is none.
func (s *session) next() (argv [][]byte, n int, ok bool) {
	if argv, n, ok = s.in.found(); ok {
		return argv, n, true
	}
	argv, n, err := s.in.frame()
	if err != nil {
		s.protocolError(err)
		return nil, 0, false
	}
	if len(argv) > 0 {
		s.lookAhead(argv, n)
	}
	return argv, n, n > 0
}

// takeArgument hands an argument of the running call over to its handler, see
// input.give. It does not while there are monitors, which read the whole call
// later.
func (s *session) takeArgument(arg []byte) bool {
	if s.ctx.InMulti || s.ctx.Woken != nil || s.srv.monitors.any() {
		return false
	}
	return s.in.give(arg)
}

// protocolError sends a protocol error, after which the client is disconnected.
func (s *session) protocolError(bad error) {
	s.ctx.Reply.Error(commands.ErrProtocol(bad))
	s.srv.stats.countError("ERR")
	s.srv.logf(logVerbose, "protocol error from client %d: %v", s.ID, bad)
	s.closing = true
}

// InputEnded is called when the client sends no more. It returns io.EOF if the
// client is to be disconnected at once. A client whose wait was just served
// gets its reply first, because an element that was popped for it would be lost
// otherwise.
func (s *session) InputEnded() error {
	if s.waiting == nil || s.srv.blocked.Cancel(s.waiting) {
		return io.EOF
	}
	s.closing = true
	return s.output.flush()
}
