package logs

import (
	"fmt"
	"testing"
	"time"
)

// A member that is refused again and again is mentioned once a minute, and those that anything
// makes up do not fill the memory.
func TestRefusedMembersAreMentionedNowAndThen(t *testing.T) {
	var r Sometimes
	mentioned := 0
	for i := range 600 { // five minutes
		if r.Due("a", time.Duration(i)*500*time.Millisecond) {
			mentioned++
		}
	}
	if mentioned != 5 {
		t.Errorf("mentioned %d times in five minutes", mentioned)
	}
	if !r.Due("b", 300*time.Second) {
		t.Error("another one is not mentioned")
	}
	for i := range 5000 {
		r.Due(fmt.Sprint(i), 300*time.Second)
	}
	if len(r.last) > 1001 {
		t.Errorf("%d are remembered", len(r.last))
	}
}
