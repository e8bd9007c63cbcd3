package grouplog

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures/testscale"
)

// Whatever operation of the files fails, what was written outlives the process, what was synced the machine, and once the disk works again
// the end of the log brings all of it to the device.
func TestWhateverOperationOfTheFilesFailsNothingIsLost(t *testing.T) {
	for k := 1; ; k += testscale.By {
		r := rand.New(rand.NewPCG(uint64(k), 5))
		d := openMemory(t, disktest.New())
		l, h := mustOpen(t, d), newHistory(rand.New(rand.NewPCG(1, 5)))
		h.length = 2000
		d.left = k
		var err error
		for range 40 {
			before := h.clone()
			if err = h.try(d, l); err != nil {
				if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "00000000") {
					t.Fatalf("operation %d: %v", k, err)
				}
				h.states = append(h.states, h.clone()) // of the call that has failed some may be there
				*h.modelLog = *before
				break
			}
		}
		if got := describe(t, l); err != nil && got != h.String() {
			t.Fatalf("operation %d: the log has become\n%s\nwant\n%s", k, got, h)
		}
		for _, percent := range []int{0, 50, 100} {
			crashed, from := d.crashed(t, percent, r), 0
			if percent == 100 {
				from = h.written
			}
			if got := describe(t, mustOpen(t, crashed)); !h.one(got, from) {
				t.Fatalf("operation %d: after a crash that keeps %d %%\n%s\nwant one from\n%s", k, percent, got, h.states[from])
			}
			crashed.close()
		}
		if err := l.Close(); err != nil {
			t.Fatalf("operation %d: close: %v", k, err)
		}
		crashed := d.crashed(t, 0, nil)
		if got := describe(t, mustOpen(t, crashed)); !h.one(got, h.written) {
			t.Fatalf("operation %d: after the end\n%s\nwant\n%s", k, got, h)
		}
		crashed.close()
		d.close()
		if d.left > 0 {
			return
		}
	}
}

// try appends or syncs, and returns an error of the disk. The model has then what the call was to do.
func (h *history) try(d *memory, l *Log) error {
	if h.r.IntN(5) == 0 {
		err := l.Sync()
		if err == nil {
			h.states, h.written = h.states[h.written:], 0
		}
		return err
	}
	return h.tryAppend(l)
}

// A takeover counts as a whole or not at all, whatever operation of the disk is the last one before a crash, and what segments had before it
// never counts behind it.
func TestPowerFailsAmidATakeover(t *testing.T) {
	for seed := range testscale.Rounds(uint64(3)) {
		r := rand.New(rand.NewPCG(seed, 8))
		d := openMemory(t, disktest.New())
		l, h := mustOpen(t, d), newHistory(r)
		h.length = 3000
		for range 30 {
			h.append(t, l)
		}
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		h.onDevice()
		var crashes []*memory
		d.mu.Lock()
		d.onWrite = func() {
			crashes = append(crashes, d.crashed(t, []int{0, 50, 100}[len(crashes)%3], r))
		}
		d.mu.Unlock()
		former := h.String()
		h.seen = map[string]bool{former: true}
		h.takeover(t, d, l)
		for range 20 {
			h.append(t, l)
		}
		d.mu.Lock()
		d.onWrite = nil
		d.mu.Unlock()
		states := map[bool]int{}
		for _, c := range crashes {
			got := describe(t, mustOpen(t, c))
			if c.close(); !h.seen[got] {
				t.Fatalf("seed %d: after a crash\n%s", seed, got)
			}
			states[got == former]++
		}
		if states[true] == 0 || states[false] == 0 {
			t.Errorf("seed %d: %d crashes leave the former log, %d another one", seed, states[true], states[false])
		}
		d.close()
	}
}
