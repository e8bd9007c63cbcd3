package resp

// NextArray is Next for commands that may have to be found once more, as they are
// looked at before those in front of them have run: it takes nothing but a complete
// array with arguments at the start of buf, and changes nothing that a later Next
// would see. n is 0 for everything else.
func (f *Framer) NextArray(buf []byte, args [][]byte) (argv [][]byte, n int) {
	if len(buf) == 0 || buf[0] != '*' || f.err != nil {
		return nil, 0
	}
	size := f.array(buf)
	if size == 0 && f.err == nil {
		f.held = len(buf)
		return nil, 0
	}
	if f.err == nil && f.count > 0 {
		argv = f.decode(buf[:size], args)
	}
	if f.err != nil || len(argv) == 0 {
		f.Forget()
		return nil, 0
	}
	f.pos, f.seen, f.count, f.held = 0, 0, 0, 0
	return argv, size
}

// Forget has the next call look at its buffer anew: it starts elsewhere than the
// last call said.
func (f *Framer) Forget() {
	*f = Framer{limit: f.limit, unauth: f.unauth}
}

// Authenticated reports what SetAuthenticated was told.
func (f *Framer) Authenticated() bool { return !f.unauth }
