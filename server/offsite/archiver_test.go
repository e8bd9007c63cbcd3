package offsite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var eachSecond = Plan{Every: 20 * time.Second, LogEvery: time.Second, Keep: 3}

// seen is what a rig promised of a backup.
type seen struct {
	made, through time.Time
}

// TestRestoreIsOfTheMomentAskedFor writes, trims the log, restarts and cuts links at random, and then restores as of each second that was
// promised: the store has what it had then, and nothing of later.
func TestRestoreIsOfTheMomentAskedFor(t *testing.T) {
	checked := 0
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := newRig(t, eachSecond)
		if seed%2 == 1 {
			r.encrypt()
		}
		records, promised, forgotten := map[time.Time]uint64{}, map[string]seen{}, map[time.Time]bool{}
		cut := func(_ int, name string) error {
			if random.IntN(12) == 0 {
				return errLink
			}
			return nil
		}
		copied := false
		r.model.busy = func() {
			copied = true
			r.model.write(t)
			r.model.trim(t)
		}
		for range 90 {
			for range random.IntN(6) {
				r.model.write(t)
			}
			switch random.IntN(15) {
			case 0:
				r.model.trim(t)
			case 1:
				for at := range records {
					if at.After(r.Status().Restorable()) {
						forgotten[at] = true // what no step tells yet is known to the process only
					}
				}
				r.restart()
			case 2:
				r.bucket.fail, r.bucket.late = cut, nil
			case 3:
				r.bucket.fail, r.bucket.late = nil, cut
			case 4, 5:
				r.bucket.fail, r.bucket.late = nil, nil
			}
			copied = false
			r.tick()
			records[r.now], forgotten[r.now] = r.model.record, copied // what was written while it was copied may not be of this second
			for i, b := range r.Status().Backups {
				if p, ok := promised[b.Name]; !ok || i == len(r.Status().Backups)-1 && b.Through.After(p.through) {
					promised[b.Name] = seen{b.Made, b.Through}
				}
			}
		}
		r.bucket.fail, r.bucket.late = nil, nil
		each := 0
		names := r.Status().Backups
		for at, want := range records {
			newest := seen{}
			for _, b := range names {
				if !b.Made.After(at) {
					newest = promised[b.Name]
				}
			}
			if each++; newest.made.IsZero() || each%4 > 0 {
				continue // before the oldest that is kept, or one of many
			}
			got, _, err := r.restore(at)
			if err != nil || got > want {
				t.Errorf("seed %d: at %v: record %d, %v; there were %d then", seed, at, got, err, want)
			}
			if !at.After(newest.through) && !forgotten[at] && got != want {
				t.Errorf("seed %d: at %v, promised until %v: record %d, want %d", seed, at, newest.through, got, want)
			}
			checked++
		}
		if r.model.held != 0 {
			t.Errorf("seed %d: the log is held %d times", seed, r.model.held)
		}
	}
	if checked < 40 {
		t.Errorf("only %d moments could be restored", checked)
	}
}

// TestBackupIsWholeWhereverItIsCutShort fails each call of a backup in turn, before and after it has done its work: what is listed can be
// restored, nothing that it names is removed, and the next backup succeeds.
func TestBackupIsWholeWhereverItIsCutShort(t *testing.T) {
	for _, late := range []bool{false, true} {
		for k := 1; ; k++ {
			r := newRig(t, Plan{Every: time.Hour, LogEvery: time.Second, Keep: 1})
			for range 15 {
				r.model.write(t)
			}
			r.ticks(2)
			r.model.trim(t)
			for range 15 {
				r.model.write(t)
			}
			r.tick()
			before := r.Status()
			r.bucket.calls = 0
			fault := func(call int, _ string) error {
				if call == k {
					return errLink
				}
				return nil
			}
			if r.bucket.fail = fault; late {
				r.bucket.fail, r.bucket.late = nil, fault
			}
			if err := r.Now(); err != nil {
				t.Fatal(err)
			}
			r.tick()
			over := r.bucket.calls < k
			r.bucket.fail, r.bucket.late = nil, nil
			if got, _, err := r.restore(noTime); err != nil || got != 30 {
				t.Fatalf("call %d, late %v: restored record %d, %v", k, late, got, err)
			}
			if got, _, err := r.restore(before.Backups[0].Made); err == nil && got != 15 {
				t.Errorf("call %d, late %v: restored record %d of the first backup", k, late, got)
			}
			if c, err := Check(context.Background(), r.bucket, nil, func(string, int64, int64) {}); err != nil || len(c.Damage) > 0 {
				t.Errorf("call %d, late %v: %q, %v", k, late, c.Damage, err)
			}
			if !over && r.Status().Failures == 0 {
				t.Errorf("call %d, late %v: nobody noticed", k, late)
			}
			r.now = r.now.Add(retryLast)
			_ = r.Now()
			r.tick()
			if s := r.Status(); s.Error != "" || len(s.Backups) != 1 || !s.Last.After(before.Last) {
				t.Errorf("call %d, late %v: then %+v", k, late, s)
			}
			if over {
				if k < 10 {
					t.Fatalf("a backup makes %d calls only", k)
				}
				break
			}
		}
	}
}

// TestBackupUploadsWhatIsNew: tables that the target has are neither uploaded nor read again, also by another process.
func TestBackupUploadsWhatIsNew(t *testing.T) {
	r := newRig(t, Plan{Every: time.Hour, LogEvery: time.Second})
	for range 70 {
		r.model.write(t)
	}
	r.model.trim(t)
	r.ticks(2)
	first := r.Status().Uploaded
	r.restart()
	for range modelTable {
		r.model.write(t)
	}
	r.model.trim(t)
	puts := map[string]int{}
	r.bucket.late = func(_ int, name string) error { puts[name]++; return nil }
	r.tick() // connects
	_ = r.Now()
	r.tick()
	s := r.Status()
	if s.Error != "" || len(s.Backups) != 2 || s.Uploaded == 0 || s.Uploaded > first/2 {
		t.Errorf("the first backup uploaded %d bytes, the second %d of %d: %q", first, s.Uploaded, s.Bytes, s.Error)
	}
	if got, _, err := r.restore(noTime); got != 77 || err != nil {
		t.Errorf("restored record %d, %v", got, err)
	}
}

// TestRetentionRemovesWhatNoBackupNames: of a backup that is not kept nothing is left but what others name.
func TestRetentionRemovesWhatNoBackupNames(t *testing.T) {
	r := newRig(t, Plan{Every: 10 * time.Second, LogEvery: time.Second, Keep: 2})
	for range 100 {
		r.model.write(t)
		if r.model.record%9 == 0 {
			r.model.trim(t)
		}
		r.tick()
	}
	s := r.Status()
	if len(s.Backups) != 2 {
		t.Fatalf("%d backups are kept, want 2", len(s.Backups))
	}
	for _, b := range s.Backups {
		if got, _, err := r.restore(b.Made); err != nil || got == 0 {
			t.Errorf("backup %s: record %d, %v", b.Name, got, err)
		}
	}
	named := map[string]struct{}{}
	v, err := openVault(context.Background(), r.bucket, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range s.Backups {
		p := &choice{Restored: Restored{Backup: b.Name}}
		if p.m, err = v.manifest(context.Background(), b.Name); err == nil {
			err = p.goOn(context.Background(), v, noTime)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.m.names(func(o piece) { named[objectName(o.Name)] = struct{}{} })
	}
	unnamed := 0
	for name := range r.bucket.objects {
		if _, ok := named[name]; !ok && strings.HasPrefix(name, objectPrefix) {
			unnamed++
		}
	}
	if unnamed > 0 {
		t.Errorf("%d of %d objects are named by nobody", unnamed, len(r.bucket.objects))
	}
}

func TestKeptAreTheNewestAndTheYoung(t *testing.T) {
	now := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	var names []string
	for day := 1; day < 10; day++ {
		names = append(names, now.AddDate(0, 0, day-10).Format(nameLayout))
	}
	for _, c := range []struct {
		plan Plan
		want int
	}{{Plan{}, 9}, {Plan{Keep: 3}, 3}, {Plan{KeepFor: 49 * time.Hour}, 2}, {Plan{Keep: 3, KeepFor: 5*24*time.Hour + 1}, 5}, {Plan{KeepFor: 1}, 1}, {Plan{Keep: 100}, 9}} {
		kept := keptOf(names, c.plan, now)
		if len(kept) != c.want || !kept[names[8]] {
			t.Errorf("%+v keeps %d, want %d: %v", c.plan, len(kept), c.want, kept)
		}
	}
}

// TestStepsAreMergedAndLoseNothing uploads the log so often that steps are put together, and restores as of each second.
func TestStepsAreMergedAndLoseNothing(t *testing.T) {
	r := newRig(t, Plan{Every: time.Hour, LogEvery: time.Second})
	r.ticks(2)
	records := map[time.Time]uint64{}
	for i := range 2*separate + 20 {
		r.model.write(t)
		if i == separate+7 {
			r.restart()
			r.tick()
		}
		r.tick()
		records[r.now] = r.model.record
	}
	steps := 0
	for name := range r.bucket.objects {
		if strings.HasPrefix(name, logPrefix) {
			steps++
		}
	}
	if steps > separate {
		t.Errorf("%d objects hold the steps", steps)
	}
	for at, want := range records {
		if want%9 != 0 {
			continue // one of many
		}
		if got, _, err := r.restore(at); got != want || err != nil {
			t.Errorf("at %v: record %d, want %d, %v", at, got, want, err)
		}
	}
}

// TestAnotherStoreIsRefused and one that was restored takes the target over, after which the first one writes nothing.
func TestAnotherStoreIsRefusedAndARestoredOneTakesOver(t *testing.T) {
	r := newRig(t, eachSecond)
	r.model.write(t)
	r.ticks(2)
	other := newRig(t, eachSecond)
	other.bucket, other.random, other.model.record = r.bucket, rand.NewChaCha8([32]byte{2}), 5
	other.restart()
	other.now = r.now
	other.model.write(t)
	other.ticks(3)
	if s := other.Status(); s.Error != "" || len(s.Backups) != 2 {
		t.Errorf("a store that was restored: %q, %+v", s.Error, s.Backups)
	}
	before := len(r.bucket.objects)
	r.now = other.now
	r.model.write(t)
	r.ticks(3)
	if s := r.Status(); !strings.Contains(s.Error, errTaken.Error()) || len(r.bucket.objects) != before {
		t.Errorf("the first one: %q, %d objects, were %d", s.Error, len(r.bucket.objects), before)
	}
	r.restart()
	r.ticks(3)
	if s := r.Status(); !strings.Contains(s.Error, errTaken.Error()) {
		t.Errorf("the first one, started again: %q", s.Error)
	}
	var m marker
	if err := json.Unmarshal(r.bucket.objects[MarkerName], &m); err != nil {
		t.Fatal(err)
	}
	m.Store = "4567"
	r.bucket.objects[MarkerName], _ = json.Marshal(m)
	other.restart()
	other.tick()
	if s := other.Status(); !strings.Contains(s.Error, errStore.Error()) {
		t.Errorf("another store: %q", s.Error)
	}
}

// TestLogGoesOnWhileABackupIsUploaded: files may take hours, and what is written meanwhile is not lost.
func TestLogGoesOnWhileABackupIsUploaded(t *testing.T) {
	r := newRig(t, Plan{Every: time.Hour, LogEvery: time.Second})
	for range 70 {
		r.model.write(t)
	}
	r.ticks(2)
	r.model.trim(t)
	tables := 0
	r.bucket.late = func(_ int, name string) error {
		if strings.HasPrefix(name, objectPrefix) && bytes.HasPrefix(r.bucket.objects[name], []byte("table")) {
			tables++
			r.model.write(t)
			r.now = r.now.Add(time.Second)
			if got, _, err := r.peek(); tables > 3 && (err != nil || got < r.model.record-3) {
				t.Errorf("while table %d is uploaded: record %d of %d can be restored, %v", tables, got, r.model.record, err)
			}
		}
		return nil
	}
	_ = r.Now()
	r.tick()
	r.bucket.late = nil
	if tables != 10 {
		t.Fatalf("%d tables were uploaded", tables)
	}
	if got, done, err := r.restore(noTime); err != nil || got != r.model.record || done.Backup != r.Status().Backups[1].Name {
		t.Errorf("restored record %d of %d, %+v, %v", got, r.model.record, done, err)
	}
}

// peek is restore from a copy of what is there, while it is being written.
func (r *rig) peek() (uint64, Restored, error) {
	still := *r
	still.bucket = &bucketRig{objects: map[string][]byte{}}
	for name, b := range r.bucket.objects {
		still.bucket.objects[name] = b
	}
	return still.restore(noTime)
}

// TestBackupMendsWhatIsCutOrMissing at the target, also of tables that were uploaded before.
func TestBackupMendsWhatIsCutOrMissing(t *testing.T) {
	r := newRig(t, Plan{Every: time.Hour, LogEvery: time.Second})
	for range 3 * modelTable {
		r.model.write(t)
	}
	r.model.trim(t)
	r.ticks(2)
	n := 0
	for name, b := range r.bucket.objects {
		if !bytes.HasPrefix(b, []byte("table")) {
			continue
		}
		if n++; n == 1 {
			r.bucket.objects[name] = b[:3]
		} else {
			delete(r.bucket.objects, name)
		}
	}
	if _, _, err := r.restore(noTime); n != 3 || err == nil {
		t.Fatalf("%d objects are damaged: %v", n, err)
	}
	_ = r.Now()
	r.tick()
	if got, _, err := r.restore(noTime); got != 3*modelTable || err != nil {
		t.Errorf("after the next backup: record %d, %v", got, err)
	}
}

func TestOneBackupAtATime(t *testing.T) {
	r := newRig(t, Plan{})
	r.tick()
	for i := range 2 {
		if err := r.Now(); (i == 1) != errors.Is(err, ErrRunning) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	r.bucket.late = func(_ int, name string) error {
		if strings.HasPrefix(name, objectPrefix) {
			if err := r.Now(); !errors.Is(err, ErrRunning) {
				t.Errorf("while one is made: %v", err)
			}
		}
		return nil
	}
	r.tick()
	if n := len(r.Status().Backups); n != 1 {
		t.Errorf("%d backups", n)
	}
	if err := r.Now(); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestCloseCancelsABackup(t *testing.T) {
	r := newRig(t, Plan{Every: time.Hour, LogEvery: time.Second})
	for range 70 {
		r.model.write(t)
	}
	r.model.trim(t)
	puts := 0
	r.bucket.late = func(int, string) error {
		if puts++; puts == 12 {
			r.cancel() // as Close does, which waits for this call
		}
		return nil
	}
	r.ticks(3)
	r.Close()
	if s := r.Status(); len(s.Backups) != 0 || s.Error != "" {
		t.Errorf("%+v", s)
	}
	if slices.ContainsFunc(r.log, func(line string) bool { return strings.Contains(line, "complete") }) {
		t.Errorf("it went on: %q", r.log)
	}
}
