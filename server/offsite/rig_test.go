package offsite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// model is a store: its log has a line for each record, and its values are the number of the newest record that they hold.
type model struct {
	dir      string
	record   uint64
	values   uint64
	segments []Segment
	held     int
	busy     func() // while the store is copied
}

const (
	modelSegment = 40 // bytes from which on another segment begins
	modelTable   = 7  // records for each table
)

func newModel(t *testing.T) *model {
	m := &model{dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(m.dir, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *model) ID() string     { return "0123" }
func (m *model) Record() uint64 { return m.record }
func (m *model) Hold() func()   { m.held++; return func() { m.held-- } }
func (m *model) Log() (string, []Segment) {
	return filepath.Join(m.dir, "log"), slices.Clone(m.segments)
}

func (m *model) write(t *testing.T) {
	t.Helper()
	if n := len(m.segments); n == 0 || m.segments[n-1].Bytes >= modelSegment {
		number := uint64(1)
		if n > 0 {
			number = m.segments[n-1].Number + 1
		}
		m.segments = append(m.segments, Segment{number, fmt.Sprintf("%010d", number), 0})
	}
	m.record++
	s := &m.segments[len(m.segments)-1]
	line := fmt.Sprintf("%d\n", m.record)
	f, err := os.OpenFile(filepath.Join(m.dir, "log", s.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	s.Bytes += int64(len(line))
}

// trim stores everything in the values, and drops all of the log but its last segment.
func (m *model) trim(t *testing.T) {
	t.Helper()
	m.values = m.record
	for len(m.segments) > 1 {
		if err := os.Remove(filepath.Join(m.dir, "log", m.segments[0].Name)); err != nil {
			t.Fatal(err)
		}
		m.segments = m.segments[1:]
	}
}

// Copy implements Source.
func (m *model) Copy(dir string) error {
	err := os.MkdirAll(filepath.Join(dir, "log"), 0o700)
	if m.busy != nil {
		m.busy()
	}
	put := func(name, text string) {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	put("values", fmt.Sprint(m.values))
	for i := range m.values / modelTable {
		name := fmt.Sprintf("%06d.sst", i)
		put(name, fmt.Sprintf("table %d", i))
		then := time.Unix(1e9, 0)
		err = errors.Join(err, os.Chtimes(filepath.Join(dir, name), then, then))
	}
	for _, s := range m.segments {
		b, failed := os.ReadFile(filepath.Join(m.dir, "log", s.Name))
		err = errors.Join(err, failed)
		put("log/"+s.Name, string(b))
	}
	return err
}

// replay returns the newest record of a model that was restored. Between values and log, and in the log, nothing may be missing.
func replay(dir string, upTo uint64) (newest uint64, err error) {
	values, err := os.ReadFile(filepath.Join(dir, "values"))
	if err != nil {
		return 0, err
	}
	fmt.Sscan(string(values), &newest)
	for i := range newest / modelTable {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%06d.sst", i)))
		if want := fmt.Sprintf("table %d", i); err != nil || string(b) != want {
			return 0, fmt.Errorf("table %d: %q, %v", i, b, err)
		}
	}
	if upTo > 0 && newest > upTo {
		return 0, fmt.Errorf("values hold record %d, the end is %d", newest, upTo)
	}
	segments, err := os.ReadDir(filepath.Join(dir, "log"))
	if err != nil {
		return 0, err
	}
	for _, s := range segments {
		b, err := os.ReadFile(filepath.Join(dir, "log", s.Name()))
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(b)) {
			var n uint64
			fmt.Sscan(line, &n)
			switch {
			case n <= newest || upTo > 0 && n > upTo:
			case n != newest+1:
				return 0, fmt.Errorf("record %d follows %d", n, newest)
			default:
				newest = n
			}
		}
	}
	return newest, nil
}

// bucketRig is a target in memory whose calls fail as a test wants.
type bucketRig struct {
	objects map[string][]byte
	calls   int
	fail    func(call int, name string) error // of a call before it does anything; nil: never
	late    func(call int, name string) error // of a call that has done its work
}

var errLink = errors.New("the link was cut")

func (b *bucketRig) call(name string, do func()) error {
	b.calls++
	if b.fail != nil {
		if err := b.fail(b.calls, name); err != nil {
			return err
		}
	}
	do()
	if b.late != nil {
		return b.late(b.calls, name)
	}
	return nil
}

func (b *bucketRig) Put(ctx context.Context, name string, content []byte) error {
	return b.call(name, func() { b.objects[name] = bytes.Clone(content) })
}

func (b *bucketRig) Get(_ context.Context, name string) (content []byte, err error) {
	err = b.call(name, func() { content = b.objects[name] })
	if err == nil && content == nil {
		err = fs.ErrNotExist
	}
	return content, err
}

func (b *bucketRig) Delete(_ context.Context, name string) error {
	return b.call(name, func() { delete(b.objects, name) })
}

func (b *bucketRig) List(_ context.Context, prefix string, f func(string, int64) error) error {
	if err := b.call(prefix, func() {}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b.objects)) {
		if strings.HasPrefix(name, prefix) {
			if err := f(name, int64(len(b.objects[name]))); err != nil {
				return err
			}
		}
	}
	return nil
}

// rig is an archiver of a model.
type rig struct {
	*Archiver
	t      *testing.T
	model  *model
	bucket *bucketRig
	now    time.Time
	key    []byte
	plan   Plan
	log    []string
	random *rand.ChaCha8
}

func newRig(t *testing.T, plan Plan) *rig {
	t.Helper()
	r := &rig{t: t, model: newModel(t), bucket: &bucketRig{objects: map[string][]byte{}}, now: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC),
		plan: plan, random: rand.NewChaCha8([32]byte{1})}
	r.restart()
	return r
}

// encrypt gives the rig a key, before it does anything.
func (r *rig) encrypt() {
	r.t.Helper()
	r.key = bytes.Repeat([]byte{7}, KeyBytes)
	if err := os.WriteFile(filepath.Join(r.model.dir, "key"), r.key, 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.restart()
}

// restart replaces the archiver, as another process would.
func (r *rig) restart() {
	if r.Archiver != nil {
		r.Close()
	}
	o := Options{Store: r.model, Dir: r.model.dir, Target: "s3://bucket/a", Open: func(string) (Target, error) { return r.bucket, nil },
		Version: "test", Now: func() time.Time { return r.now }, Random: r.random,
		Logf: func(_ bool, format string, args ...any) { r.log = append(r.log, fmt.Sprintf(format, args...)) }}
	if r.key != nil {
		o.KeyFile = filepath.Join(r.model.dir, "key")
	}
	r.Archiver = New(o)
}

// tick lets a second pass, and waits for what that begins.
func (r *rig) tick() {
	r.now = r.now.Add(time.Second)
	r.Tick(r.plan)
	r.Await()
}

func (r *rig) ticks(n int) {
	for range n {
		r.tick()
	}
}

// restore returns the newest record of a store that is made as of a time.
func (r *rig) restore(until time.Time) (newest uint64, got Restored, err error) {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "new")
	got, err = Restore(context.Background(), RestoreOptions{Target: r.bucket, Key: r.key, Dir: dir, Until: until,
		Complete: func(dir string, record uint64) (err error) { newest, err = replay(dir, record); return err },
		Progress: func(string, int64, int64) {}})
	if err != nil {
		if _, left := os.Stat(dir); !errors.Is(left, fs.ErrNotExist) {
			r.t.Errorf("after %v: %s is there", err, dir)
		}
		if _, left := os.Stat(dir + unfinished); !errors.Is(left, fs.ErrNotExist) {
			r.t.Errorf("after %v: %s%s is there", err, dir, unfinished)
		}
	}
	return newest, got, err
}
