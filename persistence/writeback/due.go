package writeback

// JournalBound is the size of the journal in bytes from which on a pass is due. While values may
// be larger than memory what is to be written of them, which cannot leave it, is
// to be a small part.
func (w *Writer) JournalBound() int64 {
	if bound := w.host.Bound(); w.crowding(bound) {
		return min(w.bound, bound/8)
	}
	return w.journalLength(w.log.Bytes())
}

const (
	// recordCost is how many bytes of a long record a start replays in the time that each record costs by itself:
	// 300 ns, at 1.1 ns for a byte.
	recordCost = 270.0
	// shortRecord is the size in bytes of the records that persistence.Options.JournalBound is meant for.
	shortRecord = 80.0
	// mostLength is how many times longer the journal may get than persistence.Options.JournalBound, and freePart
	// the part of what is free on the disk that it then may have.
	mostLength, freePart = 4, 8
)

// journalLength is how long a journal of so many bytes may get. A start has to replay it, which for long records takes
// less time a byte: so there may be more of them, and a value that is written over again and again is materialised
// less often.
func (w *Writer) journalLength(bytes int64) int64 {
	short := w.bound
	records := int64(w.journal.Newest() - w.host.Trimmed())
	if bytes < short || records <= 0 {
		return short
	}
	// records*recordCost + bytes, in proportion for the length in place of bytes, is to be as much as for short records.
	cost := float64(records)/float64(bytes)*recordCost + 1
	length := min(int64(float64(short)*(recordCost/shortRecord+1)/cost), mostLength*short)
	if free, total := w.host.Space(); total > 0 {
		length = min(length, int64(free/freePart))
	}
	return max(short, length)
}

// Grown asks for a pass if the log has become so long that one is due.
func (w *Writer) Grown() {
	if w.log.Bytes() > w.JournalBound() {
		w.Signal()
	}
}
