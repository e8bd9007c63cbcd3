package info

import (
	"strconv"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// sizeNames are the kinds of values whose sizes are shown, in the order of Redis.
var sizeNames = []struct {
	kind structures.Kind
	name string
}{
	{structures.KindString, "strings_sizes"}, {structures.KindList, "lists_items"}, {structures.KindSet, "sets_items"},
	{structures.KindZSet, "zsets_items"}, {structures.KindHash, "hashes_items"},
}

// KeySizes shows how many values have which sizes, rounded down to powers of two.
func KeySizes(t *Text, databases []*persistence.Sizes) {
	for db, sizes := range databases {
		for _, k := range sizeNames {
			prefix := "db" + strconv.Itoa(db) + "_distrib_" + k.name + ":"
			begun := false
			for i, n := range sizes[k.kind] {
				if n == 0 {
					continue
				}
				if begun {
					t.b = append(t.b, ',')
				} else {
					t.b, begun = append(t.b, prefix...), true
				}
				t.b = strconv.AppendInt(append(appendPower(t.b, i), '='), n, 10)
			}
			if begun {
				t.b = append(t.b, "\r\n"...)
			}
		}
	}
}

// appendPower appends 2^(i-1), 0 for 0, as Redis writes it: 1, 512, 1K, 2M.
func appendPower(b []byte, i int) []byte {
	if i == 0 {
		return append(b, '0')
	}
	const units = "KMGTPE"
	b = strconv.AppendInt(b, 1<<((i-1)%10), 10)
	if unit := (i - 1) / 10; unit > 0 {
		b = append(b, units[unit-1])
	}
	return b
}
