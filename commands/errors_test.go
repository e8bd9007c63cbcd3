package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

// What the level of a group does not allow is refused with what helps.
func TestWhatNeedsALevelSaysSo(t *testing.T) {
	text, known := commands.Text(fmt.Errorf("keep it: %w", persistence.NeedsLevelError{Needs: 2, Has: 1}))
	want := "ERR The group has level 1, and this needs level 2: VIGIL.CLUSTER UPGRADE at the leader"
	if !known || !strings.HasPrefix(string(text), want) {
		t.Errorf("the client gets %q", text)
	}
}
