package grouplog

// recentBytes bounds the values of the entries that are kept in memory. An entry is wanted
// again right after it was written: for the members that it is sent to, and when it is
// committed. Reading it back takes a file to be opened, more than writing it; what a
// leader has under way to others is bounded by as many bytes.
const recentBytes = 4 << 20

// recent is the newest entries, without gaps, up to the last one of the log.
type recent struct {
	entries []Entry
	bytes   int64 // of their values
	bound   int64
}

// first is the index of the oldest one, end of the log if there is none.
func (r *recent) first(end uint64) uint64 { return end - uint64(len(r.entries)) }

// cutBefore drops what comes before an index, of a log that ends before end.
func (r *recent) cutBefore(index, end uint64) {
	for len(r.entries) > 0 && r.first(end) < index {
		r.drop(1)
	}
}

// drop drops the n oldest ones.
func (r *recent) drop(n int) {
	for i := range r.entries[:n] {
		r.bytes -= size(&r.entries[i])
		r.entries[i] = Entry{} // the data are not held on to
	}
	r.entries = r.entries[n:]
}

// replace takes entries in place of those from their first one on, of a log that ended
// before end.
func (r *recent) replace(entries []Entry, at, end uint64) {
	keep := 0
	if first := r.first(end); at > first {
		keep = int(at - first)
	}
	for i := range r.entries[keep:] {
		r.bytes -= size(&r.entries[keep+i])
	}
	clear(r.entries[keep:])
	r.entries = append(r.entries[:keep], entries...)
	for i := range entries {
		r.bytes += size(&entries[i])
	}
	for r.bytes > r.bound {
		r.drop(1)
	}
}

// size is what an entry counts for, a little more than its value.
func size(e *Entry) int64 { return int64(header + len(e.Data)) }

// some returns the entries from lo up to hi, hi not included, of a log that ends before end, nothing if lo is not there.
func (r *recent) some(lo, hi, end uint64) []Entry {
	first := r.first(end)
	if lo < first {
		return nil
	}
	return append([]Entry(nil), r.entries[lo-first:hi-first]...)
}
