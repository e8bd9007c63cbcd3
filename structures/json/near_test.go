package json

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

// Containers of about the size from which on they lie in chains, with heads of each length, are what
// they were wherever they are put.
func TestContainersOfAboutAPageAreWhatTheyWere(t *testing.T) {
	for _, members := range []int{1, 60, 127, 128, 200} {
		for _, object := range []bool{false, true} {
			for size := nearBytes - 20; size < nearBytes+20; size++ {
				text := near(members, size, object)
				value := encode(t, text)
				for around, path := range map[string][]Step{`%s`: nil, `[1,%s]`: {At(1)}, `{"a":[%s]}`: {Named([]byte("a")), At(0)}} {
					d := New(structurestest.Keys(1))
					d.SetRoot(nil, encode(t, fmt.Sprintf(around, text)))
					v, ok := d.Lookup(path)
					if got := string(AppendText(nil, v)); !ok || got != text {
						t.Fatalf("%d members, object %v, of %d bytes in %s: parsed as %.80s...", members, object, len(value), around, got)
					}
					d.SetRoot(nil, encode(t, fmt.Sprintf(around, "0")))
					d.Put(nil, path, value)
					v, ok = d.Lookup(path)
					if got := string(AppendText(nil, v)); !ok || got != text {
						t.Fatalf("%d members, object %v, of %d bytes in %s: put as %.80s...", members, object, len(value), around, got)
					}
				}
			}
		}
	}
}

// near is the text of a container whose members take about so many bytes.
func near(members, size int, object bool) string {
	var b strings.Builder
	for i := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		if object {
			fmt.Fprintf(&b, `"%03d":`, i)
			size -= 4
		}
		if i < members-1 {
			b.WriteByte('1')
			size--
			continue
		}
		b.WriteString(`"` + strings.Repeat("x", size) + `"`)
	}
	if object {
		return "{" + b.String() + "}"
	}
	return "[" + b.String() + "]"
}

// An array that takes the place of one of as many bytes has its elements elsewhere in them.
func TestElementsOfAnotherArrayOfAsManyBytesAreFound(t *testing.T) {
	d := New(structurestest.Keys(1))
	d.SetRoot(nil, encode(t, "[["+strings.Repeat("1,", 99)+"1],[1]]"))
	if v, ok := d.Lookup([]Step{At(0), At(45)}); !ok || string(AppendText(nil, v)) != "1" {
		t.Fatal("an element is not there")
	}
	value := encode(t, "["+strings.Repeat("100,", 44)+"101,102,1,1,1,1,1,1,1,1]")
	if v, _ := d.Lookup([]Step{At(0)}); sizeOf(v.b) != len(value) {
		t.Fatalf("arrays of %d and %d bytes", sizeOf(v.b), len(value))
	}
	d.Put(nil, []Step{At(0)}, value)
	for i, want := range map[int]string{0: "100", 44: "101", 45: "102", 46: "1"} {
		if v, ok := d.Lookup([]Step{At(0), At(i)}); !ok || string(AppendText(nil, v)) != want {
			t.Errorf("element %d: got %s", i, AppendText(nil, v))
		}
	}
}
