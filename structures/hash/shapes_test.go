package hash

import (
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

// Small hashes of a store are records, which share the lists of their fields. Calls that change them read one after the
// other into the same Hash.
func TestRecordsOfASharedShapeEqualMaps(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r, keys := rand.New(rand.NewPCG(seed, 2)), structurestest.Keys(7)
	shared := New(keys)
	shared.Reset()
	models := make([]*hashModel, 12)
	records := make([][]byte, len(models))
	for i := range models {
		models[i] = newHashModel(t, seed+uint64(i), 5, 180)
		models[i].hash, models[i].copied, models[i].ageless = shared, New(keys), i > 5
		records[i] = shared.AppendCompact(nil)
	}
	var dressed, loaded, timed int
	for step := range 20_000 {
		i := r.IntN(len(models))
		m := models[i]
		shared.LoadCompact(records[i])
		if shared.pack.form == bare {
			loaded++
		}
		for range r.IntN(3) {
			m.step(step/500%2 == 0)
		}
		m.checkValue(shared)
		structurestest.Replay(t, m.copied, m.ch.Encoded())
		m.ch.Reset(1 << 20)
		m.checkValue(m.copied)

		written := shared.pack.form != bare
		records[i] = shared.AppendCompact(records[i][:0])
		if written && shared.pack.form == shaped {
			dressed++
		}
		if shared.timed > 0 {
			timed++
		}
		m.checkValue(shared)
		longest, peak := shared.longest, shared.peak
		shared.LoadCompact(records[i])
		if shared.longest != longest || shared.peak != peak {
			t.Fatalf("step %d: read with longest %d and peak %d, had %d and %d", step, shared.longest, shared.peak, longest, peak)
		}
		if shared.Empty() { // a key without fields is deleted
			shared.Reset()
			m.copied.Reset()
			records[i] = shared.AppendCompact(records[i][:0])
		}
	}
	if dressed < 500 || loaded < 500 || timed < 500 {
		t.Fatalf("too few of a kind: %d records written of a shape, %d read, %d with expiries", dressed, loaded, timed)
	}
}
