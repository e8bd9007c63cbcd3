package feed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// ear is a receiver that keeps what it is told.
type ear struct {
	told []string
	lost string
}

func (e *ear) Record(lsn uint64, t Told) {
	words := strings.FieldsFunc(string(t.Commands), func(r rune) bool { return r == '\r' || r == '\n' })
	var text []string
	for _, w := range words {
		if w[0] != '*' && w[0] != '$' {
			text = append(text, w)
		}
	}
	e.told = append(e.told, fmt.Sprintf("%d: %d-%d %d %s", lsn, t.First, t.Last, t.Count, strings.Join(text, " ")))
}

func (e *ear) Lost(why string) { e.lost = why }

// numbers numbers records.
type numbers struct{ n uint64 }

func (j *numbers) append() uint64 { j.n++; return j.n }

// record is a record that is about a key of a database.
func record(phys uint64, key string, more func(rec *structures.Change)) []byte {
	var rec structures.Change
	format.RecordKey(&rec, uint32(phys), []byte(key))
	more(&rec)
	return rec.Encoded()
}

func set(value string) func(*structures.Change) {
	return func(rec *structures.Change) {
		rec.Op(format.OpSet, 1)
		rec.Bytes([]byte(value))
	}
}

// Records come in the order of the journal, with the databases that have to be selected; without a feed, and behind its end, they are only recorded.
func TestRecordsAreToldInTheirOrder(t *testing.T) {
	var d Feed
	var j numbers
	if d.Record(record(7, "k", set("early")), nil, j.append) != 1 || d.Active() {
		t.Error("there is a feed")
	}
	e := new(ear)
	if !d.Start(e, Options{}, []uint32{7, 9}) || d.Start(e, Options{}, nil) {
		t.Error("there are two feeds, or none")
	}
	d.Record(record(7, "k", set("v")), nil, j.append)
	d.Record(append(record(9, "a", set("1")), record(7, "b", func(rec *structures.Change) { rec.Op(format.OpDelete, 0) })...), nil, j.append)
	d.Record(record(8, "of no database", set("v")), nil, j.append)
	want := []string{"2: 0-0 1 SET k v", "3: 1-0 3 SET a 1 SELECT 0 DEL b", "4: -1-0 0 "}
	if fmt.Sprint(e.told) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", e.told, want)
	}
	d.Stop()
	d.Record(record(7, "k", set("late")), nil, j.append)
	if len(e.told) != 3 || e.lost != "" || j.n != 5 {
		t.Errorf("told %q, lost %q, %d records", e.told, e.lost, j.n)
	}
}

// What cannot be told ends the feed with a reason, and is recorded all the same; whatever bytes a record has.
func TestWhatCannotBeToldEndsTheFeed(t *testing.T) {
	for name, rec := range map[string][]byte{
		"operations of a type that nobody told": record(7, "k", func(rec *structures.Change) { rec.Op(structures.FirstOp, 0) }),
		"an operation that is none":             {1, 255, 255},
		"torn":                                  record(7, "k", set("value"))[:8],
		"a mapping of other databases":          {format.OpMapping},
	} {
		var d Feed
		var j numbers
		e := new(ear)
		d.Start(e, Options{}, []uint32{7})
		if d.Record(rec, nil, j.append); j.n != 1 || e.lost == "" || len(e.told) > 0 || d.Active() {
			t.Errorf("%s: %d records, told %q, lost %q", name, j.n, e.told, e.lost)
		}
	}
}
