package json

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/structures/structurestest"
)

// The model of a document is what encoding/json makes of its text. Its numbers are float64.

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := stdjson.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return v
}

// randomText makes a value that is up to so deep, and now and then larger than a page.
func randomText(r *rand.Rand, depth int) string {
	switch n := r.IntN(10); {
	case n < 4 || depth == 0:
		return []string{"1", "-7", "2.5", "null", "true", `"text"`, `""`, "[]", "{}", `"` + strings.Repeat("long", r.IntN(3000)) + `"`}[r.IntN(10)]
	case n < 7:
		parts := make([]string, r.IntN(6))
		for i := range parts {
			parts[i] = randomText(r, depth-1)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var parts []string
	for i := range r.IntN(5) {
		parts = append(parts, fmt.Sprintf(`"%c":%s`, 'a'+i, randomText(r, depth-1)))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// place is a container of the model, with the member in it that was chosen.
type place struct {
	object map[string]any
	array  []any
	name   string
	index  int
	set    func(any) // replaces the container
}

func (p *place) get() any {
	if p.object != nil {
		return p.object[p.name]
	}
	return p.array[p.index]
}

func (p *place) put(v any) {
	if p.object != nil {
		p.object[p.name] = v
	} else {
		p.array[p.index] = v
	}
}

// choosePlace walks down at random. It returns nil at the root.
func choosePlace(r *rand.Rand, root any) (path string, p *place) {
	path = "$"
	set := func(any) {}
	for v := root; r.IntN(5) > 0; {
		switch c := v.(type) {
		case map[string]any:
			names := slices.Sorted(func(yield func(string) bool) {
				for name := range c {
					if !yield(name) {
						return
					}
				}
			})
			if len(names) == 0 {
				return path, p
			}
			name := names[r.IntN(len(names))]
			path, p = path+"."+name, &place{object: c, name: name, set: set}
		case []any:
			if len(c) == 0 {
				return path, p
			}
			i := r.IntN(len(c))
			path, p = fmt.Sprintf("%s[%d]", path, i), &place{array: c, index: i, set: set}
		default:
			return path, p
		}
		q := *p
		set, v = q.put, p.get()
	}
	return path, p
}

// mergePatch is RFC 7396.
func mergePatch(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, v := range members {
		if v == nil {
			delete(object, name)
		} else {
			object[name] = mergePatch(object[name], v)
		}
	}
	return object
}

func TestDocumentsAreWhatTheModelIs(t *testing.T) {
	r := structurestest.Seeded(t)
	rig := commandtest.New(t, Group())
	did := map[string]int{}
	for range 30 {
		text := `{"a":[` + randomText(r, 4) + `],"b":{"c":` + randomText(r, 4) + `},"n":1}`
		root := parsed(t, text)
		rig.Want("+OK\r\n", "JSON.SET", "k", "$", text)
		for step := range 60 {
			path, p := choosePlace(r, root)
			if p == nil {
				continue
			}
			value := randomText(r, 3)
			call := []string{"JSON.SET", "k", path, value}
			switch old := p.get().(type) {
			case float64:
				call = []string{"JSON.NUMINCRBY", "k", path, "3"}
				p.put(old + 3)
			case bool:
				call = []string{"JSON.TOGGLE", "k", path}
				p.put(!old)
			case string:
				call = []string{"JSON.STRAPPEND", "k", path, `"more"`}
				p.put(old + "more")
			case []any:
				i := r.IntN(len(old) + 1)
				switch {
				case r.IntN(3) > 0 || len(old) == 0:
					call = []string{"JSON.ARRINSERT", "k", path, fmt.Sprint(i), value, "5"}
					p.put(slices.Insert(slices.Clone(old), i, parsed(t, value), any(5.0)))
				case r.IntN(2) == 0:
					i = min(i, len(old)-1)
					call = []string{"JSON.ARRPOP", "k", path, fmt.Sprint(i)}
					p.put(slices.Delete(slices.Clone(old), i, i+1))
				default:
					call = []string{"JSON.ARRTRIM", "k", path, fmt.Sprint(i), "-2"}
					p.put(slices.Clone(old[min(i, max(len(old)-1, 0)):max(len(old)-1, i)]))
					if i >= len(old) {
						p.put([]any{})
					}
				}
			case map[string]any:
				call = []string{"JSON.MERGE", "k", path, value}
				p.put(mergePatch(old, parsed(t, value)))
			default:
				p.put(parsed(t, value))
			}
			did[call[0]]++
			if reply := rig.Call(call...); reply[0] == '-' || strings.HasPrefix(reply, "$-1") {
				t.Fatalf("%.200q: %s", call, reply)
			}
			if step%15 == 0 {
				if err := rig.Store.Passes().Reload(); err != nil {
					t.Fatal(err)
				}
			}
			_, got, _ := strings.Cut(rig.Call("JSON.GET", "k"), "\r\n")
			if got := parsed(t, got); !reflect.DeepEqual(got, root) {
				t.Fatalf("%.200q: got\n%.300v, want\n%.300v", call, got, root)
			}
		}
	}
	for _, name := range []string{"JSON.SET", "JSON.NUMINCRBY", "JSON.TOGGLE", "JSON.STRAPPEND", "JSON.ARRINSERT", "JSON.ARRPOP", "JSON.ARRTRIM", "JSON.MERGE"} {
		if did[name] < 5 {
			t.Errorf("%s was called %d times", name, did[name])
		}
	}
}
