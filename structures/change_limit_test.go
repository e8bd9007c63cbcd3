package structures

import (
	"errors"
	"testing"
)

// A change records nothing above its limit, even if nobody asked.
func TestChangeHasNoOperationAboveItsLimit(t *testing.T) {
	later := errors.New("later")
	var ch Change
	ch.Limit(&Limit{Ops: 20, Err: later})
	if err := ch.Permit(20); err != nil {
		t.Errorf("the last operation: %v", err)
	}
	if err := ch.Permit(21); err != later {
		t.Errorf("the one behind it: %v", err)
	}
	ch.Op(20, 0)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("an operation above the limit is recorded")
			}
		}()
		ch.Op(21, 0)
	}()
	if ch.Len() != 2 {
		t.Errorf("%d bytes are recorded", ch.Len())
	}
	if ch.Limit(nil); ch.Permit(255) != nil || (*Change)(nil).Permit(255) != nil {
		t.Error("without a limit an operation is refused")
	}
}
