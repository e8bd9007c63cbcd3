package persistence

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// TestScripts runs the lives of stores in testdata/*.txt. A line "> a; b" is one
// transaction of several operations, or one thing that happens to the store; the
// lines behind it are what it shows. Keys are written with their database: 1/k.
//
//	set k v [ms]   del k   push k e...   pop k   expire k ms   persist k
//	rename k k     flush db              swap db db
//	now ms         the time, which expires keys
//	commit, sync   the journal goes to the system, or to the device
//	materialise    values are written under their own keys, the journal is cut
//	spill          values leave memory
//	crash          what was not synced is lost
//	reopen         an orderly end and a start
//	keys           every key with its value
//	disk           how many chunks the log has that a replay needs, and keys Pebble of other kinds
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { runScript(t, file, string(text)) })
		})
	}
}

// script is a store whose life a file tells.
type script struct {
	t     *testing.T
	mem   *disktest.Disk
	store *Store
	tasks map[string]Task
	now   int64
}

func runScript(t *testing.T, file, text string) {
	s := &script{t: t, mem: disktest.New(), now: 1000}
	s.open()
	line, got := "", ""
	var want []string
	check := func(n int) {
		if w := strings.Join(want, "\n"); got != w {
			t.Errorf("%s:%d: %s\ngot\n%s\nwant\n%s", file, n, line, got, w)
		}
		want = nil
	}
	n := 0
	for l := range strings.Lines(text) {
		n++
		switch l = strings.TrimSpace(l); {
		case l == "" || l[0] == '#':
		case l[0] == '>':
			check(n - 1)
			line = l
			got = s.run(strings.TrimSpace(l[1:]))
		default:
			want = append(want, l)
		}
	}
	check(n)
	s.close()
}

func (s *script) open() {
	s.tasks = map[string]Task{}
	s.store = openMemory(s.t, Options{FS: s.mem, Databases: 2, IdleAfter: -1, Now: func() int64 { return s.now },
		Background: func(t Task) { s.tasks[t.Name] = t }})
}

func (s *script) close() { closeStore(s.t, s.store) }

// run makes what a line says happen and returns what it shows.
func (s *script) run(line string) string {
	words := strings.Fields(line)
	switch words[0] {
	case "now":
		s.now = int64(s.number(words[1]))
		s.store.ExpireCycle(s.now, cycleBudget)
	case "commit":
		s.commit()
	case "sync":
		s.store.SetSync(SyncEverySecond)
		s.tasks["commit"].Step(true)
	case "materialise":
		s.materialise()
	case "spill":
		s.store.eviction.Set(1, eviction.Spill, 5)
		s.store.eviction.MakeRoom()
		s.store.eviction.Set(0, eviction.Spill, 5)
	case "crash":
		s.crash()
	case "reopen":
		s.close()
		s.open()
	case "keys":
		return s.keys()
	case "disk":
		return s.disk()
	default:
		all(s.store, s.now, func(tx *Tx) {
			for part := range strings.SplitSeq(line, ";") {
				s.operate(tx, strings.Fields(part))
			}
		})
	}
	return ""
}

const cycleBudget = 1 << 30 // a second: more than there is to do

func (s *script) number(word string) int {
	s.t.Helper()
	n, err := strconv.Atoi(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// materialise makes a pass, and the steps of the journal that it waits for.
func (s *script) materialise() {
	done := make(chan error, 1) // the one result
	go func() { done <- s.store.passes.Materialise(s.t.Context()) }()
	for synctest.Wait(); len(done) == 0; synctest.Wait() {
		s.tasks["commit"].Step(false)
	}
	if err := <-done; err != nil {
		s.t.Fatalf("materialise: %v", err)
	}
}

// commit gives the system what is recorded, without the sync that ends a second.
func (s *script) commit() {
	s.store.SetSync(SyncNever)
	s.tasks["commit"].Step(true)
}

// crash starts anew on what the disk has for sure.
func (s *script) crash() {
	mem := s.mem.CrashClone(vfs.CrashCloneCfg{})
	s.close()
	s.mem = mem
	s.open()
}

// operate does one operation of a transaction.
func (s *script) operate(tx *Tx, words []string) {
	key := func(i int) []byte {
		db, k, ok := strings.Cut(words[i], "/")
		if !ok {
			tx.Select(0)
			return []byte(db)
		}
		tx.Select(s.number(db))
		return []byte(k)
	}
	switch words[0] {
	case "set":
		e := NoExpiry
		if len(words) > 3 {
			e = Expiry(s.number(words[3]))
		}
		tx.SetString(key(1), []byte(words[2]), e)
	case "del":
		tx.Delete(key(1))
	case "push":
		l, ch, _, err := Edit(tx, key(1), list.New)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, e := range words[2:] {
			l.Push(ch, list.Tail, []byte(e))
		}
	case "pop":
		if l, ch, ok, err := Edit[*list.List](tx, key(1), nil); err != nil {
			s.t.Fatal(err)
		} else if ok {
			l.Pop(ch, list.Head)
		}
	case "expire":
		tx.SetExpire(key(1), int64(s.number(words[2])))
	case "persist":
		tx.Persist(key(1))
	case "rename":
		tx.Transfers().Rename(key(1), key(2))
	case "flush":
		tx.Databases().Flush(s.number(words[1]))
	case "swap":
		tx.Databases().Swap(s.number(words[1]), s.number(words[2]))
	default:
		s.t.Fatalf("no operation %q", words[0])
	}
}

// keys shows all keys of all databases.
func (s *script) keys() string {
	var lines []string
	all(s.store, s.now, func(tx *Tx) {
		for db := range 2 {
			tx.Select(db)
			var keys [][]byte
			tx.Databases().Keys(func(key []byte) bool { keys = append(keys, bytes.Clone(key)); return true })
			for _, key := range keys {
				lines = append(lines, fmt.Sprintf("%d/%s %s", db, key, s.value(tx, key)))
			}
		}
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (s *script) value(tx *Tx, key []byte) string {
	text := ""
	if tx.Kind(key) == structures.KindList {
		l, _, err := View[*list.List](tx, key)
		if err != nil {
			s.t.Fatal(err)
		}
		var elements []string
		for i := range l.Len() {
			e, _ := l.Index(i)
			elements = append(elements, string(e))
		}
		text = fmt.Sprint(elements)
	} else if b, _, err := tx.String(key); err != nil {
		s.t.Fatal(err)
	} else {
		text = string(b)
	}
	if ms, _ := tx.ExpireAt(key); ms != 0 {
		text += fmt.Sprintf(" until %d", ms)
	}
	return text
}

// disk counts what Pebble has.
func (s *script) disk() string {
	names := map[byte]string{format.PrefixHead: "heads", format.PrefixPage: "pages"}
	counts := map[string]int{"heads": 0, "pages": 0, "chunks": chunksOf(s.t, s.store)}
	it, err := s.store.files.Disk.DB.NewIter(&pebble.IterOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		if name := names[it.Key()[0]]; name != "" {
			counts[name]++
		}
	}
	if err := it.Close(); err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(lines, ", ")
}

// chunksOf counts the chunks that a replay needs.
func chunksOf(t *testing.T, s *Store) (n int) {
	t.Helper()
	stored, err := s.files.ReadMeta()
	if err != nil {
		t.Fatal(err)
	}
	r := s.files.Log.Read(stored.Trimmed.Index + 1)
	defer r.Close()
	more, err := r.Next()
	for ; more && err == nil; more, err = r.Next() {
		n++
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}
