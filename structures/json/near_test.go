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

// A large object that was asked for many names that it does not have knows all its names, also those that
// come later.
func TestNewMembersOfALargeObjectAreFoundAfterMisses(t *testing.T) {
	d := New(structurestest.Keys(1))
	d.SetRoot(nil, encode(t, `{"n":1}`))
	name := func(what string, i int) []Step { return []Step{Named(fmt.Appendf(nil, "%s-%d", what, i))} }
	value := encode(t, `"`+strings.Repeat("x", 100)+`"`)
	for i := range 2000 {
		d.Put(nil, name("old", i), value)
	}
	for round := range 5 {
		for i := range 40 {
			if _, ok := d.Lookup(name("none", i)); ok {
				t.Fatal("a member is there that never was")
			}
		}
		for i := range 700 {
			d.Put(nil, name("new", 700*round+i), value)
			if _, ok := d.Lookup(name("new", 700*round+i)); !ok {
				t.Fatalf("round %d: new member %d is not found", round, i)
			}
		}
	}
	if root := d.Root(); root.Len() != 1+2000+5*700 {
		t.Errorf("%d members", root.Len())
	}
}

// An array that becomes small goes back to where it was, in a page of another one, with what is large in it.
func TestAnArrayThatBecomesSmallKeepsWhatIsLargeInIt(t *testing.T) {
	d := New(structurestest.Keys(1))
	long := `"` + strings.Repeat("x", 20_000) + `"`
	d.SetRoot(nil, encode(t, "[["+strings.Repeat("1,", 9000)+long+"]"+strings.Repeat(`,"element"`, 3000)+"]"))
	checkDocument(t, d)
	chains := len(d.chains)
	if !d.Splice(nil, []Step{At(0)}, 0, 8990, nil) {
		t.Fatal("not removed")
	}
	checkDocument(t, d)
	if len(d.chains) != chains-1 {
		t.Errorf("%d chains, want %d", len(d.chains), chains-1)
	}
	v, _ := d.Lookup([]Step{At(0)})
	if got := string(AppendText(nil, v)); got != "["+strings.Repeat("1,", 10)+long+"]" {
		t.Errorf("got %.100s", got)
	}
	if !d.Remove(nil, []Step{At(0)}) {
		t.Fatal("not removed")
	}
	checkDocument(t, d)
}
