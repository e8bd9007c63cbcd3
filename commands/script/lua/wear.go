package lua

import "sync/atomic"

// muchMemory is what a script uses in bytes at least for the server to give memory back when
// the script is over.
const muchMemory = 32 << 20

// wear bounds what libraries keep in variables between calls. Nothing tells what belongs to
// them, so that all live objects on the heap are counted from when their state was made: if
// they become more by what a script may use, the state is given up.
type wear struct {
	fresh atomic.Bool // the state of functions was made since the last look
	out   atomic.Bool // it is to be given up

	base int64 // the least that was seen; used by look only
}

// renew is called when a state of functions was made.
func (w *wear) renew() {
	w.out.Store(false)
	w.fresh.Store(true)
}

// look is called every few milliseconds while scripts are in use.
func (w *wear) look(limit int64) {
	live := liveBytes()
	if w.fresh.Swap(false) {
		w.base = live
	}
	if w.base = min(w.base, live); live > w.base+limit {
		w.out.Store(true)
	}
}
