package rdbfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/zset"
)

// What is written for each target is read as it was, if the target has it, and large values too.
func TestWhatIsWrittenIsRead(t *testing.T) {
	keys := new(structures.HashKeys)
	for _, name := range TargetNames() {
		target, _ := TargetNamed(name)
		for i, n := range []int{1, 30_000, 30_000} {
			l, s, z, h, x := list.New(), set.New(keys), zset.New(keys), hash.New(keys), stream.New()
			for i := range n {
				e := fmt.Appendf(nil, "e%d", i)
				l.Push(nil, list.Tail, e)
				s.Add(nil, e)
				z.Add(nil, e, float64(i), 0)
				h.Set(nil, e, e)
				x.Add(nil, stream.ID{Ms: uint64(i + 1)}, [][]byte{[]byte("f"), e}, stream.PageLimits{Bytes: 4096, Entries: 100})
			}
			h.ExpireAt(nil, []byte("e0"), 1<<40)
			h.Set(nil, []byte("over"), nil)
			h.ExpireAt(nil, []byte("over"), 5)
			var b bytes.Buffer
			w := NewWriter(&b, target, 10, false)
			if i == 2 {
				w.Shrink()
			}
			w.Library("#!lua name=x")
			w.Database(3, 6, 0)
			want := map[string]Outcome{"hash": Written}
			if !target.FieldsExpire() {
				want["hash"] = Stripped
			}
			long := fmt.Append(nil, rand.Perm(50_000))
			for key, v := range map[string]structures.Value{"list": l, "set": s, "zset": z, "hash": h, "stream": x, "": nil} {
				if got, err := w.Key([]byte(key), v, long, 1<<41); got != want[key] || err != nil {
					t.Errorf("%s: %s is %d, %v", name, key, got, err)
				}
			}
			if got, err := w.Key([]byte("filter"), bloom.New(), nil, 0); got != NoType || err != nil {
				t.Errorf("%s: a filter is %d, %v", name, got, err)
			}
			if err := w.Close(); err != nil || w.Size() != int64(b.Len()) {
				t.Errorf("%s: %v, %d bytes of %d", name, err, w.Size(), b.Len())
			}
			r := NewReader(&b, -1, roomy)
			found := 0
			for {
				rec, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if rec.Kind == LibraryRecord {
					continue
				}
				found++
				key, db, expire := string(rec.Key), rec.DB, rec.Expire
				d, err := r.Value(nil)
				if err != nil || db != 3 || expire != 1<<41 {
					t.Errorf("%s: %s in database %d expires at %d, %v", name, key, db, expire, err)
				}
				length := -1
				switch v := d.Value.(type) {
				case *list.List:
					length = v.Len()
				case *set.Set:
					length = v.Len()
				case *zset.Set:
					length = v.Len()
				case *stream.Stream:
					length = v.Len()
				case *hash.Hash:
					length = v.Len()
					if ms, has, _ := v.ExpiryOf([]byte("e0")); has != target.FieldsExpire() || has && ms != 1<<40 {
						t.Errorf("%s: a field expires at %d, %v", name, ms, has)
					}
				case nil:
					if !bytes.Equal(d.Bytes, long) {
						t.Errorf("%s: a string of %d bytes", name, len(d.Bytes))
					}
					continue
				}
				if length != n {
					t.Errorf("%s: %s has %d elements, want %d", name, key, length, n)
				}
			}
			if found != 6 {
				t.Errorf("%s: %d keys", name, found)
			}
		}
	}
}

// A writer that fails is the error of the end, and of keys from then on.
func TestWriterReportsItsError(t *testing.T) {
	target, _ := TargetNamed("redis7.0")
	full := errors.New("full")
	w := NewWriter(failing{full}, target, 0, false)
	var err error
	for i := 0; err == nil && i < 10_000; i++ {
		_, err = w.Key(fmt.Append(nil, i), nil, []byte("a value that fills the window"), 0)
	}
	if err != full || w.Close() != full {
		t.Errorf("got %v", err)
	}
	if _, ok := TargetNamed("redis6"); ok {
		t.Error("there is a redis6")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
