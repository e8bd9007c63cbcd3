package fence

import (
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// brittle is a disk whose changes fail from some moment on.
type brittle struct{ broken bool }

func (b *brittle) MaybeError(op errorfs.Op) error {
	if b.broken && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		return syscall.EIO
	}
	return nil
}

func (b *brittle) String() string { return "brittle" }

func fenced(t *testing.T) (f *FS, disk *disktest.Disk, b *brittle) {
	t.Helper()
	disk, b = disktest.New(), &brittle{}
	for _, dir := range []string{"db", "elsewhere"} {
		if err := disk.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := disk.OpenDir("/")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(root.Sync(), root.Close()); err != nil {
		t.Fatal(err)
	}
	return New(errorfs.Wrap(disk, b), "db"), disk, b
}

func write(t *testing.T, fs vfs.FS, name, text string) vfs.File {
	t.Helper()
	file, err := fs.Create(name, "test")
	if err == nil {
		_, err = file.Write([]byte(text))
	}
	if err != nil {
		t.Fatalf("write %s: %v", name, err)
	}
	return file
}

func read(t *testing.T, fs vfs.FS, name string) string {
	t.Helper()
	file, err := fs.Open(name)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return string(text)
}

func TestAFailureIsToldBeforeItLooksLikeSuccess(t *testing.T) {
	f, disk, b := fenced(t)
	var told error
	if err := f.Adopt(func(err error) { told = err }); err != nil {
		t.Fatal(err)
	}
	log := write(t, f, "db/000001.log", "one")
	b.broken = true
	if _, err := log.Write([]byte("two")); err != nil {
		t.Errorf("write behind the fence: %v", err)
	}
	if !errors.Is(told, syscall.EIO) || !errors.Is(f.Err(), syscall.EIO) {
		t.Errorf("told %v, and then %v, want EIO", told, f.Err())
	}
	b.broken = false
	for _, err := range []error{second(log.Write([]byte("three"))), log.Sync(), f.Rename("db/000001.log", "db/x"), f.Remove("db/000001.log"), log.Close()} {
		if err != nil {
			t.Errorf("behind the fence: %v", err)
		}
	}
	if got := read(t, disk, "db/000001.log"); got != "one" {
		t.Errorf("the disk has %q, want what it had when the fence fell", got)
	}
	if err := f.Adopt(nil); !errors.Is(err, syscall.EIO) {
		t.Errorf("Adopt of a fallen fence: %v", err)
	}
}

func second(_ int, err error) error { return err }

func TestBehindAFallenFenceTablesAreKeptInMemory(t *testing.T) {
	f, disk, _ := fenced(t)
	old := write(t, f, "db/000002.sst", "old")
	f.Fall(syscall.EIO)
	if _, err := old.Write([]byte("more")); !errors.Is(err, ErrFallen) {
		t.Errorf("write of a table that was begun on the disk: %v", err)
	}
	if err := write(t, f, "db/000003.sst", "new").Close(); err != nil {
		t.Error(err)
	}
	if got := read(t, f, "db/000003.sst"); got != "new" {
		t.Errorf("read back %q", got)
	}
	if got := read(t, f, "db/000002.sst"); got != "old" {
		t.Errorf("read from the disk %q", got)
	}
	names, err := f.List("db")
	if err != nil || !slices.Contains(names, "000003.sst") {
		t.Errorf("List: %v, %v", names, err)
	}
	if _, err := disk.Stat("db/000003.sst"); err == nil {
		t.Error("the table is on the disk")
	}
	if _, err := f.Create("db/000004.sst", "pebble-compaction"); !errors.Is(err, ErrFallen) {
		t.Errorf("a compaction got %v from a database that is being opened", err)
	}
	f.Opened()
	waiting := make(chan error)
	go func() { // ends with Release
		_, err := f.Create("db/000004.sst", "pebble-compaction")
		waiting <- err
	}()
	f.Release()
	if err := <-waiting; !errors.Is(err, ErrFallen) {
		t.Errorf("a compaction got %v", err)
	}
}

func TestElsewhereFailuresArePassedOn(t *testing.T) {
	f, disk, b := fenced(t)
	b.broken = true
	if _, err := f.Create("elsewhere/x", "test"); !errors.Is(err, syscall.EIO) {
		t.Errorf("Create elsewhere: %v", err)
	}
	if f.Err() != nil {
		t.Errorf("the fence has fallen: %v", f.Err())
	}
	b.broken = false
	f.Fall(syscall.EIO)
	if err := write(t, f, "elsewhere/x", "text").Close(); err != nil {
		t.Error(err)
	}
	if got := read(t, disk, "elsewhere/x"); got != "text" {
		t.Errorf("elsewhere there is %q", got)
	}
}

func TestDiscardRemovesWhatNoManifestMentions(t *testing.T) {
	f, disk, _ := fenced(t)
	manifest := write(t, f, "db/MANIFEST-000001", "")
	write(t, f, "db/000002.sst", "old").Close()
	if _, err := manifest.Write([]byte("000002")); err != nil {
		t.Fatal(err)
	}
	write(t, f, "db/000003.sst", "new").Close()
	f.Fall(syscall.ENOSPC)
	f.CloseFiles("db")
	f.Discard()
	names, err := disk.List("db")
	slices.Sort(names)
	if want := []string{"000002.sst", "MANIFEST-000001"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("there are %v, %v, want %v", names, err, want)
	}
}

func TestRemovalsWaitUntilSettled(t *testing.T) {
	f, disk, _ := fenced(t)
	write(t, disk, "db/000002.sst", "old").Close()
	f.HoldRemovals()
	if err := f.Remove("db/000002.sst"); err != nil {
		t.Error(err)
	}
	if _, err := disk.Stat("db/000002.sst"); err != nil {
		t.Errorf("removed at once: %v", err)
	}
	f.Settle()
	if _, err := disk.Stat("db/000002.sst"); err == nil {
		t.Error("still there after Settle")
	}
}

// TestAMarkerAlwaysNamesAManifestThatIsThere replaces a manifest as Pebble does,
// with a power failure after each step that keeps some of what was not synced.
func TestAMarkerAlwaysNamesAManifestThatIsThere(t *testing.T) {
	f, disk, _ := fenced(t)
	dir, err := f.OpenDir("db")
	if err != nil {
		t.Fatal(err)
	}
	check := func(step string, want ...string) {
		t.Helper()
		clone := disk.CrashClone(vfs.CrashCloneCfg{})
		names, err := clone.List("db")
		slices.Sort(names)
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("a crash after %s leaves %v, %v, want %v", step, names, err, want)
		}
	}
	first := write(t, f, "db/MANIFEST-000001", "first")
	if err := first.Sync(); err != nil {
		t.Fatal(err)
	}
	check("the sync of a manifest", "MANIFEST-000001")
	write(t, f, "db/marker.manifest.000001.MANIFEST-000001", "").Close()
	dir.Sync()
	check("the first marker", "MANIFEST-000001", "marker.manifest.000001.MANIFEST-000001")
	if err := write(t, f, "db/MANIFEST-000002", "second").Sync(); err != nil {
		t.Fatal(err)
	}
	write(t, f, "db/marker.manifest.000002.MANIFEST-000002", "").Close()
	f.Remove("db/marker.manifest.000001.MANIFEST-000001")
	if _, err := disk.Stat("db/marker.manifest.000001.MANIFEST-000001"); err != nil {
		t.Error("the old marker is gone before the new one is on the device")
	}
	dir.Sync()
	if _, err := disk.Stat("db/marker.manifest.000001.MANIFEST-000001"); err == nil {
		t.Error("the old marker is there after the new one is on the device")
	}
}
