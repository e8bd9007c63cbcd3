package writeback

import "testing"

// A value is encoded amid a batch that has pages of it already, as after one that was not committed: what was staged of the
// value before it says nothing about them.
func TestStagedPagesFreeNoneOfAnotherValue(t *testing.T) {
	w := new(Writer)
	one, other := &Pager{w: w}, &Pager{w: w}
	one.hold(1)
	other.hold(1)
	p := parts{of: one, staged: []uint64{1}}
	p.turnTo(other)
	if _, held := other.held.pages[1]; !held {
		t.Error("the page of the other value may leave memory, and is in the batch alone")
	}
	p.staged = append(p.staged, 1)
	p.turnTo(other)
	if _, held := other.held.pages[1]; held {
		t.Error("a page that is staged stays in memory")
	}
}
