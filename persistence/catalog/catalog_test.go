package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

func memory(t *testing.T) *pebble.DB {
	t.Helper()
	db, err := pebble.Open("db", &pebble.Options{FS: vfs.NewMem(), Logger: disktest.Silent{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func load(t *testing.T, db Reader, listeners map[byte]Listener) *Catalog {
	t.Helper()
	c, err := Load(db, listeners)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// write writes what changed.
func write(t *testing.T, db *pebble.DB, c *Catalog) {
	t.Helper()
	b := db.NewBatch()
	if err := errors.Join(c.Take().Write(b), b.Commit(pebble.NoSync)); err != nil {
		t.Fatal(err)
	}
}

// replay does all operations of rec, as a store does that is in use, or as a start does.
func replay(t *testing.T, c *Catalog, rec *structures.Change, live bool) {
	t.Helper()
	for b := rec.Encoded(); len(b) > 0; {
		op, args, rest, err := structures.NextOp(b)
		if err == nil {
			err = c.Replay(op, &args, live)
		}
		if err != nil {
			t.Fatal(err)
		}
		b = rest
	}
}

// same compares texts of each kind and their sizes.
func same(t *testing.T, what string, got, want *Catalog) {
	t.Helper()
	for op := byte(format.OpLibrary); op <= format.OpMove; op++ {
		g, w := got.Of(op), want.Of(op)
		bytes := 0
		for name := range g.Names() {
			text, ok := g.Get(name)
			if !ok {
				t.Errorf("%s: %s %q has a name only", what, g.What, name)
			}
			bytes += len(name) + len(text)
		}
		if !maps.Equal(g.Copy(), w.Copy()) || g.Len() != w.Len() || g.Bytes() != w.Bytes() || g.Bytes() != bytes {
			t.Errorf("%s: %s: got %q of %d bytes, want %q of %d", what, g.What, g.Copy(), g.Bytes(), w.Copy(), w.Bytes())
		}
	}
}

// edit adds, changes and removes one text of each kind.
func edit(c *Catalog, rec *structures.Change, round int) {
	for op := byte(format.OpLibrary); op <= format.OpMove; op++ {
		l := c.Of(op)
		l.Set(rec, "changes", fmt.Sprint("text ", round))
		l.Set(rec, fmt.Sprint("comes", round), "text")
		l.Remove(rec, fmt.Sprint("comes", round-1))
	}
}

// What is recorded leads to the same texts elsewhere, done twice too, and so does what is written.
func TestTextsAreWhatWasRecordedAndWritten(t *testing.T) {
	db := memory(t)
	c, elsewhere := load(t, db, nil), load(t, memory(t), nil)
	for round := range 4 {
		var rec structures.Change
		edit(c, &rec, round)
		if round == 2 {
			c.Of(format.OpLibrary).Clear(&rec)
		}
		replay(t, elsewhere, &rec, false)
		replay(t, elsewhere, &rec, false)
		same(t, fmt.Sprintf("replayed, round %d", round), elsewhere, c)
		write(t, db, c)
		same(t, fmt.Sprintf("written, round %d", round), load(t, db, nil), c)
		if more := c.Take(); len(more) != 0 {
			t.Errorf("round %d: %d changes are left", round, len(more))
		}
	}
}

// Changes that could not be written are written with the next ones, as they are then.
func TestChangesAreKeptUntilTheyAreWritten(t *testing.T) {
	db := memory(t)
	c := load(t, db, nil)
	var rec structures.Change
	edit(c, &rec, 1)
	write(t, db, c)
	edit(c, &rec, 2)
	failed := c.Take()
	edit(c, &rec, 3)
	failed.Keep()
	write(t, db, c)
	same(t, "written", load(t, db, nil), c)
}

// Listeners are told what a replay in use has changed, all of it if there was nothing before, and
// nothing of what a transaction changes.
func TestListenersAreToldWhatIsNew(t *testing.T) {
	var told []string
	hear := func(byName map[string]string, changed []string) {
		told = append(told, fmt.Sprint(slices.Sorted(maps.Keys(byName)), changed))
	}
	c := load(t, memory(t), map[byte]Listener{format.OpUser: hear})
	user := func(name string) *structures.Change {
		rec := new(structures.Change)
		c.Of(format.OpMove).Set(rec, name, "") // nobody listens
		load(t, memory(t), nil).Of(format.OpUser).Set(rec, name, "on")
		return rec
	}
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"the first", func() { replay(t, c, user("a"), true); c.TellNews() }, []string{"[a] []"}},
		{"another", func() { replay(t, c, user("b"), true); c.TellNews() }, []string{"[a b] [b]"}},
		{"nothing", func() { c.TellNews() }, nil},
		{"at a start", func() { replay(t, c, user("c"), false); c.TellNews() }, nil},
		{"any", c.Tell, []string{"[a b c] []"}},
		{"of a transaction", func() { c.Of(format.OpUser).Set(new(structures.Change), "d", "on"); c.TellNews() }, nil},
	} {
		told = nil
		if step.do(); !slices.Equal(told, step.want) {
			t.Errorf("%s: told %q, want %q", step.name, told, step.want)
		}
	}
}

// A text whose checksum is wrong is not loaded.
func TestDamagedTextIsAnError(t *testing.T) {
	db := memory(t)
	if err := db.Set(format.AppendTextKey(nil, format.PrefixMove, "7"), []byte("damaged"), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(db, nil); !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}
