package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// A change of users or directives that says nothing, or too much, is damage; all libraries may be removed at once.
func TestChangesOfTextsAreDecodedStrictly(t *testing.T) {
	for _, x := range []struct {
		op   byte
		args []string
		ok   bool
	}{
		{format.OpLibrary, nil, true}, {format.OpUser, nil, false}, {format.OpUser, []string{"u"}, true}, {format.OpUser, []string{"u", "on"}, true},
		{format.OpUser, []string{"u", "on", "off"}, false}, {format.OpLibrary, []string{"a", "b", "c"}, false},
		{format.OpConfiguration, nil, false}, {format.OpConfiguration, []string{"d"}, true}, {format.OpConfiguration, []string{"d", "5"}, true},
		{format.OpConfiguration, []string{"d", "5", "6"}, false},
		{format.OpMove, nil, false}, {format.OpMove, []string{"1"}, true}, {format.OpMove, []string{"1", "x"}, true}, {format.OpMove, []string{"1", "x", "y"}, false},
	} {
		var rec structures.Change
		rec.Op(x.op, len(x.args))
		for _, a := range x.args {
			rec.String(a)
		}
		_, args, _, err := structures.NextOp(rec.Encoded())
		if err != nil {
			t.Fatal(err)
		}
		if err := (&checker{}).operation(x.op, &args); (err == nil) != x.ok || !x.ok && !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("operation %d %q: %v", x.op, x.args, err)
		} else if len(x.args) > 2 && !strings.Contains(err.Error(), fmt.Sprintf("%q", x.args[0])) {
			t.Errorf("%v does not name %s", err, x.args[0])
		}
	}
}
