package place

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/keys"
	"github.com/vigildb/vigil/commands/text"
	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdb"
)

func newRig(t testing.TB) *commandtest.Rig {
	return commandtest.New(t, Group(), keys.Group(), text.Group())
}

// setUnits gives a map n units, equal ones if the strategy needs it.
func setUnits(r *commandtest.Rig, key string, n int, weighted bool) {
	r.T.Helper()
	call := []string{"PLACE.SET", key}
	for i := range n {
		capacity := 1
		if weighted {
			capacity = 1 + i%100
		}
		call = append(call, fmt.Sprintf("unit-%04d", i), fmt.Sprint(capacity))
	}
	r.Want(fmt.Sprintf(":%d\r\n", n), call...)
}

// objectsCall is a PLACE.LOCATE of n objects.
func objectsCall(key string, n int) [][]byte {
	call := commandtest.Argv("PLACE.LOCATE", key)
	for i := range n {
		call = append(call, fmt.Appendf(nil, "object:%d", i))
	}
	return call
}

func TestPlaceErrorsHaveWords(t *testing.T) {
	// A domain error without words would reach the client as an internal one.
	r := newRig(t)
	long := strings.Repeat("x", placement.MaxName+1)
	r.Call("PLACE.CREATE", "m", "SEED", "1")
	r.Call("PLACE.CREATE", "j", "SEED", "1", "STRATEGY", "jump")
	r.Call("PLACE.CREATE", "n", "SEED", "1", "STRATEGY", "nearest", "POINTS", "4096")
	r.Call("PLACE.SET", "j", "a", "1", "b", "1")
	many := "PLACE.SET n"
	for i := range 1<<10 + 1 {
		many += fmt.Sprintf(" u%d 1", i)
	}
	for _, call := range []string{
		"PLACE.LOCATE m x", "PLACE.SET m a 1e300", "PLACE.SET m a NaN", "PLACE.SET m a 1 a 1", "PLACE.SET m " + long + " 1",
		"PLACE.SET m a 1 DOMAIN " + long, "PLACE.SET m a 1 b 1e15", "PLACE.SET m a 1e15 b 1e-9", "PLACE.DEL j a b", "PLACE.DEL j c",
		"PLACE.SET j c 2", "PLACE.LOCATE j x COPIES 3", "PLACE.PREVIEW j SET c 2", "PLACE.PREVIEW j DEL a b",
		"PLACE.IMPORT k nonsense", "PLACE.CREATE k STRETCH 1e-300", "PLACE.CREATE k SLOTS 9223372036854775807", many,
		"PLACE.CREATE k STRATEGY share STRETCH 64 POINTS 4096",
	} {
		if got := r.Call(strings.Fields(call)...); got[0] != '-' || got == "-"+string(commands.ErrInternal)+"\r\n" {
			t.Errorf("%.60s: got %.100q, want an error in words", call, got)
		}
	}
}

func TestFailedPlaceCommandsRecordNothing(t *testing.T) {
	r := newRig(t)
	r.Call("PLACE.CREATE", "m", "SEED", "1")
	setUnits(r, "m", 5, true)
	r.Classes = commands.EventAll | commands.EventNew
	before, version := r.Journal(), r.Call("PLACE.INFO", "m")
	for _, call := range []string{
		"PLACE.CREATE m", "PLACE.SET m x 1 y 0", "PLACE.SET m x 1 y 1e15", "PLACE.DEL m unit-0001 x", "PLACE.DEL m unit-0001 unit-0001",
		"PLACE.LOCATE m x", "PLACE.LOCATE m x COPIES 9", "PLACE.PREVIEW m SET x 4", "PLACE.UNITS m", "PLACE.EXPORT m", "PLACE.IMPORT m x REPLACE",
	} {
		r.Call(strings.Fields(call)...)
	}
	if got := r.Journal(); got != before {
		t.Errorf("refused commands: journal grew by %d bytes", got-before)
	}
	r.Want(version, "PLACE.INFO", "m")
	r.WantEvents()
}

func TestPlaceEventsTellOfChanges(t *testing.T) {
	r := newRig(t)
	r.Classes = commands.EventAll | commands.EventNew
	r.Call("PLACE.CREATE", "m", "SEED", "1")
	r.WantEvents("new m", "place.create m")
	r.Call("PLACE.SET", "m", "a", "1", "b", "1")
	r.WantEvents("place.set m")
	r.Call("PLACE.DEL", "m", "a")
	r.WantEvents("place.del m")
	data := exported(r, "m")
	r.Call("PLACE.IMPORT", "m", data, "REPLACE")
	r.WantEvents("place.import m")
	r.Call("PLACE.IMPORT", "n", data)
	r.WantEvents("new n", "place.import n")
}

func TestPlaceVersionGrowsWithEachChange(t *testing.T) {
	r := newRig(t)
	r.Call("PLACE.CREATE", "m", "SEED", "1")
	r.Call("PLACE.SET", "m", "a", "1", "b", "1")
	r.Call("PLACE.DEL", "m", "a")
	r.Call("PLACE.IMPORT", "m", exported(r, "m"), "REPLACE")
	r.Call("COPY", "m", "twin")
	for _, key := range []string{"m", "twin"} {
		if info := r.Call("PLACE.INFO", key); !strings.Contains(info, "version\r\n:3\r\n") {
			t.Errorf("after three changes: %q", info)
		}
	}
}

func TestMapWithoutSeedDrawsOne(t *testing.T) {
	r := newRig(t)
	r.Call("PLACE.CREATE", "m")
	if info := r.Call("PLACE.INFO", "m"); strings.Contains(info, "seed\r\n$1\r\n0\r\n") {
		t.Errorf("map without SEED: got seed 0 in %q", info)
	}
}

// exported is what PLACE.EXPORT returns.
func exported(r *commandtest.Rig, key string) string {
	r.T.Helper()
	_, data, ok := strings.Cut(r.Call("PLACE.EXPORT", key), "\r\n")
	if !ok || len(data) < 2 {
		r.T.Fatalf("PLACE.EXPORT %s: %q", key, data)
	}
	return data[:len(data)-2]
}

func TestMapsSurviveReloadDumpAndExport(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t)
	for _, spec := range placement.Strategies() {
		r.Call("DEL", "m", "restored", "imported", "copied")
		r.Want("+OK\r\n", "PLACE.CREATE", "m", "STRATEGY", spec.Name, "SEED", "9")
		setUnits(r, "m", 20, spec.Weighted)
		for range 60 {
			name := fmt.Sprintf("unit-%04d", rng.IntN(40))
			if rng.IntN(2) == 0 {
				r.Call("PLACE.DEL", "m", name)
				continue
			}
			capacity := 1.0
			if spec.Weighted {
				capacity = 1 + 99*rng.Float64()
			}
			r.Call("PLACE.SET", "m", name, fmt.Sprint(capacity))
		}
		locate := objectsCall("m", 300)
		units := r.Call("PLACE.UNITS", "m")
		want := string(r.Do(locate))
		r.Want("+OK\r\n", "RESTORE", "restored", "0", r.Payload("m"))
		r.Want("+OK\r\n", "PLACE.IMPORT", "imported", exported(r, "m"))
		r.Want(":1\r\n", "COPY", "m", "copied")
		for _, key := range []string{"m", "restored", "imported", "copied"} {
			if err := r.Store.Passes().Reload(); err != nil {
				t.Fatal(err)
			}
			locate[1] = []byte(key)
			if got := string(r.Do(locate)); got != want {
				t.Fatalf("%s, seed %d: %s places elsewhere: %.200q, not %.200q", spec.Name, seed, key, got, want)
			}
			r.Want(units, "PLACE.UNITS", key)
		}
	}
}

func TestMemoryUsageOfMapsIsThatOfTheirTables(t *testing.T) {
	r := commandtest.New(t, Group(), admin.Group())
	var sizes [2]int
	for i, n := range []int{10, 1000} {
		key := fmt.Sprint("m", i)
		r.Call("PLACE.CREATE", key, "SEED", "1")
		setUnits(r, key, n, true)
		if _, err := fmt.Sscanf(r.Call("MEMORY", "USAGE", key), ":%d", &sizes[i]); err != nil {
			t.Fatal(err)
		}
	}
	if perUnit := sizes[1] / 1000; sizes[0] > 8192 || perUnit < 100 || perUnit > 1000 {
		t.Errorf("memory: %v bytes for 10 and 1000 units", sizes)
	}
}

func TestLocateDoesNotAllocate(t *testing.T) {
	r := newRig(t)
	r.Ctx.InMulti = true // tables for copies are made by the first call
	for _, spec := range placement.Strategies() {
		r.Call("PLACE.CREATE", spec.Name, "STRATEGY", spec.Name, "SEED", "1")
		setUnits(r, spec.Name, 100, spec.Weighted)
		for _, tail := range [][]string{nil, {"COPIES", "3"}} {
			call := append(objectsCall(spec.Name, 200), commandtest.Argv(tail...)...)
			r.Do(call)
			if n := testing.AllocsPerRun(5, func() { r.Do(call) }); n > 2 {
				t.Errorf("%s %v: %v allocations for 200 objects", spec.Name, tail, n)
			}
		}
	}
}

func TestLongPreviewsAreRefusedInTransactions(t *testing.T) {
	r := newRig(t)
	r.Call("PLACE.CREATE", "sieve", "SEED", "1", "STRATEGY", "sieve")
	r.Call("PLACE.CREATE", "race", "SEED", "1", "STRATEGY", "rendezvous")
	r.Call("PLACE.CREATE", "ring", "SEED", "1", "STRATEGY", "nearest", "POINTS", "1100")
	setUnits(r, "sieve", 1100, false)
	setUnits(r, "race", 1100, false)
	setUnits(r, "ring", 200, false)
	wrong := func(err commands.WireError) string { return "-" + string(err) + "\r\n" }
	r.Want(wrong(errPairs), append(argvOf("PLACE.PREVIEW race DEL"), unitNames(1000)...)...)
	r.Ctx.InMulti = true
	if got := r.Call("PLACE.PREVIEW", "sieve", "DEL", "unit-0000"); !strings.HasSuffix(got, "$5\r\npairs\r\n*0\r\n") {
		t.Errorf("a unit leaves 1100 of sieve: %.200q", got)
	}
	r.Want(wrong(errPairsMulti), append(argvOf("PLACE.PREVIEW race DEL"), unitNames(100)...)...)
	r.Want(wrong(errTableMulti), "PLACE.PREVIEW", "ring", "DEL", "unit-0000")
	if got := string(r.Do(objectsCall("race", 1<<16))); got != wrong(errStepsMulti) {
		t.Errorf("race of 65536 objects: %.100q", got)
	}
	if got := string(r.Do(objectsCall("race", 1000))); !strings.HasPrefix(got, "*1000\r\n$9\r\nunit-") {
		t.Errorf("race of 1000 objects: %.100q", got)
	}
}

func argvOf(call string) []string { return strings.Fields(call) }

func unitNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("unit-%04d", i))
	}
	return names
}

// FuzzImport imports and restores anything: it is refused in words, or is a map
// that works.
func FuzzImport(f *testing.F) {
	r := newRig(f)
	for _, spec := range placement.Strategies() {
		r.Call("PLACE.CREATE", spec.Name, "STRATEGY", spec.Name, "SEED", "1")
		setUnits(r, spec.Name, 9, spec.Weighted)
		r.Call("PLACE.DEL", spec.Name, "unit-0003", "unit-0007")
		f.Add([]byte(exported(r, spec.Name)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r.T = t
		r.Call("DEL", "k", "copy")
		if n := len(data); n > 4 {
			// Without the right checksum nothing gets further.
			sum := crc32.Checksum(data[:n-4], crc32.MakeTable(crc32.Castagnoli))
			data = append(slices.Clone(data[:n-4]), byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
		}
		switch got := r.Call("PLACE.IMPORT", "k", string(data)); got {
		case "-" + string(errImport) + "\r\n":
			return
		case "+OK\r\n":
		default:
			t.Fatalf("PLACE.IMPORT: got %q", got)
		}
		if exported(r, "k") != string(data) {
			t.Fatal("PLACE.EXPORT answers other bytes")
		}
		for _, call := range []string{
			"PLACE.INFO k", "PLACE.UNITS k", "PLACE.LOCATE k a b c", "PLACE.LOCATE k a b COPIES 2", "PLACE.PREVIEW k SET new 1",
			"PLACE.SET k new 1", "PLACE.DEL k new", "PLACE.LOCATE k a",
		} {
			if got := r.Call(argvOf(call)...); strings.HasPrefix(got, "-"+string(commands.ErrInternal)) {
				t.Fatalf("%s: got %q", call, got)
			}
		}
		own := rdb.AppendOwn(nil, structures.KindPlace, append([]byte{byte(len(data))}, data...))
		if got := r.Call("RESTORE", "copy", "0", string(own)); got != "-ERR Bad data format\r\n" {
			t.Fatalf("RESTORE of a head without its version: got %q", got)
		}
		if got := r.Call("RESTORE", "copy", "0", r.Payload("k")); got != "+OK\r\n" {
			t.Fatalf("RESTORE of its own DUMP: got %q", got)
		}
	})
}

func BenchmarkPlaceLocate(b *testing.B) {
	for _, spec := range placement.Strategies() {
		b.Run("strategy="+spec.Name, func(b *testing.B) {
			r := newRig(b)
			r.Call("PLACE.CREATE", "m", "STRATEGY", spec.Name, "SEED", "1")
			setUnits(r, "m", 1000, spec.Weighted)
			const objects = 1000
			call := objectsCall("m", objects)
			b.ReportAllocs()
			for b.Loop() {
				r.Do(call)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*objects), "ns/object")
		})
	}
}
