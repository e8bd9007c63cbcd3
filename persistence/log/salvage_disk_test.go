package log

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// damagedLog is a log with damage in its second segment, on a disk that has all of it.
func damagedLog(t *testing.T) (disk *disktest.Disk, cfg Config, d *Damage) {
	t.Helper()
	mem, cfg, frames, synced := written(t)
	cfg.Synced = map[uint64]int64{synced.Segment: synced.Offset}
	disk = disktest.New()
	for _, dir := range []string{"log", "aside"} {
		if err := disk.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for n := uint64(1); n <= synced.Segment; n++ {
		b := disktest.ReadFile(t, mem, "log/"+segmentName(n))
		if n == frames[3].at.Segment {
			b[frames[3].at.Offset+frameHead+1] ^= 1
		}
		disktest.WriteFile(t, disk, "log/"+segmentName(n), b)
	}
	disktest.WriteFile(t, disk, "log/"+spareName(9), make([]byte, HeadBytes))
	if err := errors.Join(syncDir(disk, "log"), syncDir(disk, "")); err != nil {
		t.Fatal(err)
	}
	cfg.FS = disk
	if d = firstDamage(cfg); d == nil {
		t.Fatal("the damage is not noticed")
	}
	return disk, cfg, d
}

// logFiles are the files of the log, as one text.
func logFiles(t *testing.T, disk vfs.FS) (s string) {
	t.Helper()
	files, err := listFiles(&Config{FS: disk, Dir: "log"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range files.numbers {
		s += fmt.Sprintf("%d: %x\n", n, disktest.ReadFile(t, disk, "log/"+segmentName(n)))
	}
	return s + fmt.Sprint(files.spares)
}

// A disk that fails is no damage, and no end of what can be read: whoever asks is told, at each operation. What is only
// looked at stays as it is, and another attempt does all.
func TestFailuresOfTheDiskAreToldWhenALogIsSalvaged(t *testing.T) {
	for name, do := range map[string]func(cfg Config, d *Damage) error{
		"Remains": func(cfg Config, d *Damage) error {
			l, err := Remains(cfg, d)
			if err == nil {
				_, err = contents(l, Position{})
			}
			return err
		},
		"Behind": func(cfg Config, d *Damage) error {
			_, err := Behind(cfg, d, func(Frame) {})
			return err
		},
		"PutAside": func(cfg Config, d *Damage) error { return PutAside(cfg, d, "aside/log") },
		"Remove":   func(cfg Config, _ *Damage) error { return Remove(cfg) },
	} {
		for k := 1; ; k++ {
			disk, cfg, d := damagedLog(t)
			before, fault := logFiles(t, disk), &disktest.FailAt{Left: k}
			cfg.FS = errorfs.Wrap(disk, fault)
			err := do(cfg, d)
			if fault.Left > 0 {
				if err != nil || k < 5 {
					t.Errorf("%s: %v after %d operations", name, err, k-1)
				}
				break
			}
			// A directory that is left has nothing in it.
			mayStay := name == "Remove" && fault.Op.Kind == errorfs.OpRemove && fault.Op.Path == "log"
			if !mayStay && (!errors.Is(err, disktest.ErrDisk) || AsDamage(err) != nil) {
				t.Errorf("%s: %v of %s fails: %v", name, fault.Op.Kind, fault.Op.Path, err)
			}
			if name != "Remove" && logFiles(t, disk) != before {
				t.Errorf("%s: the log is changed when %v of %s fails", name, fault.Op.Kind, fault.Op.Path)
			}
			cfg.FS = disk
			if err := do(cfg, d); err != nil {
				t.Errorf("%s: after a failure: %v", name, err)
			}
			if name == "PutAside" {
				number, _ := parseName(d.File)
				checkAside(t, cfg, d, number)
			}
		}
	}
}

// What is put aside is on the device before anything is cut off.
func TestWhatIsPutAsideOutlivesACrash(t *testing.T) {
	disk, cfg, d := damagedLog(t)
	if err := PutAside(cfg, d, "aside/log"); err != nil {
		t.Fatal(err)
	}
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	number, _ := parseName(d.File)
	for n := number; n <= 4; n++ {
		if !bytes.Equal(disktest.ReadFile(t, crashed, "aside/log/"+segmentName(n)), disktest.ReadFile(t, disk, "log/"+segmentName(n))) {
			t.Errorf("the copy of segment %d is not what was damaged", n)
		}
	}
}

// A log that is removed does not come back, and one that is removed in part has lost its end only, so that it is never
// taken for one that begins later.
func TestRemoveTakesTheEndFirst(t *testing.T) {
	for k := 1; ; k++ {
		disk, cfg, _ := damagedLog(t)
		fault := &disktest.FailAt{Left: k}
		cfg.FS = errorfs.Wrap(disk, fault)
		err := Remove(cfg)
		files, listErr := listFiles(&Config{FS: disk, Dir: "log"})
		if listErr != nil {
			t.Fatal(listErr)
		}
		for i, n := range files.numbers {
			if n != uint64(i+1) {
				t.Errorf("after %d operations segments %v are left", k-1, files.numbers)
			}
		}
		if fault.Left > 0 {
			if err != nil || !files.absent {
				t.Errorf("the directory is left: %v", err)
			}
			if _, err := disk.CrashClone(vfs.CrashCloneCfg{}).Stat("log/" + segmentName(1)); err == nil {
				t.Error("a crash brings the log back")
			}
			return
		}
	}
}
