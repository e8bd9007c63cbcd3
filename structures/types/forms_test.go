package types

import (
	"errors"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// The table has the operations that values know, all of them, and no others: one that is new gets a level with its form.
func TestTableHasAllOperations(t *testing.T) {
	var keys structures.HashKeys
	samples := samples(t, &keys)
	for _, row := range All() {
		if len(row.Forms) == 0 {
			continue // TestFormsAreInTheOrderOfTheirLevels says so
		}
		v := samples[row.Kind]
		newest := row.Forms[len(row.Forms)-1].Ops
		for op := structures.FirstOp; op < 256; op++ {
			err := v.Apply(byte(op), new(structures.Args))
			if known := !errors.Is(err, structures.ErrUnknownChange); known != (op <= int(newest)) {
				t.Errorf("%s: operation %d is known: %v; the table says that %d is the last one", row.Name, op, known, newest)
			}
		}
	}
}

// The first form of a type has its first level, and each one that follows a higher level and more than the one before.
func TestFormsAreInTheOrderOfTheirLevels(t *testing.T) {
	for _, row := range All() {
		if len(row.Forms) == 0 {
			t.Errorf("%s: its row has no Forms: they say since which level of a group there are such values, see forms.go", row.Name)
			continue
		}
		before := Form{Ops: structures.FirstOp}
		for i, f := range row.Forms {
			more := i == 0 || f.Ops > before.Ops || f.Head > before.Head
			if f.Level <= before.Level || f.Ops < before.Ops || f.Head < before.Head || !more {
				t.Errorf("%s: form %v follows %v", row.Name, f, before)
			}
			before = f
		}
	}
}
