package resp

// NextArray is Next for commands that may have to be found again, because they are
// framed before the commands in front of them have run: it accepts only a complete
// array with arguments at the start of buf, and does not affect a later Next. n is
// 0 for everything else.
func (f *Framer) NextArray(buf []byte, args [][]byte) (argv [][]byte, n int) {
	if len(buf) == 0 || buf[0] != '*' || f.err != nil {
		return nil, 0
	}
	argv, size := f.command(buf, args)
	if size == 0 && f.err == nil {
		f.held = len(buf)
		return nil, 0
	}
	if f.err != nil || len(argv) == 0 {
		f.Forget()
		return nil, 0
	}
	f.pos, f.seen, f.count, f.held = 0, 0, 0, 0
	return argv, size
}

// Forget makes the next call scan its buffer from the start, because the buffer
// does not continue where the last call stopped.
func (f *Framer) Forget() {
	*f = Framer{limit: f.limit, unauth: f.unauth}
}

// Authenticated reports what SetAuthenticated has set.
func (f *Framer) Authenticated() bool { return !f.unauth }
