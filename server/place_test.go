package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/vigildb/vigil/placement"
)

// TestMapsAreReadWhileTheyChange lets clients look up, copy and preview, on and
// off the locks, while another changes the map: each answer is that of one
// state. The race detector sees the rest.
func TestMapsAreReadWhileTheyChange(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	for _, spec := range placement.Strategies() {
		if spec.Name != "sieve-abs" && spec.Name != "nearest" && spec.Name != "rendezvous" {
			continue
		}
		placeMap(t, c, spec, 300)
		call := "PLACE.LOCATE " + spec.Name + strings.Repeat(" object", 4000)
		var all sync.WaitGroup
		for _, read := range []string{
			call, call + " COPIES 2", "PLACE.PREVIEW " + spec.Name + " DEL unit-0007",
			"PLACE.PREVIEW " + spec.Name + " SET unit-0009 1000", "PLACE.UNITS " + spec.Name,
		} {
			reader := r.dial()
			all.Go(func() {
				for range 4 {
					if got := reader.do(strings.Fields(read)...); got == "" || got[0] != '[' {
						t.Errorf("%.60s: got %.100s", read, got)
					}
				}
			})
		}
		for i := range 12 {
			c.want(fmt.Sprintf("PLACE.SET %s new-%d 50", spec.Name, i), "(int) 1")
			if i%2 == 1 {
				c.want(fmt.Sprintf("PLACE.DEL %s new-%d", spec.Name, i), "(int) 1")
			}
		}
		all.Wait()
	}
}

func TestPreviewOfALargeMapHoldsNobodyUp(t *testing.T) {
	r := newRig(t)
	c := planned(r)
	spec, err := placement.Lookup("sieve-abs")
	if err != nil {
		t.Fatal(err)
	}
	placeMap(t, c, spec, 2000)
	slow := r.dial()
	slow.send(forever...) // the worker is taken
	r.computing(1)
	preview := r.dial()
	preview.send("PLACE.PREVIEW", "sieve-abs", "DEL", "unit-0000")
	r.blocked(2)
	// What it previews is the map of the call, though that has changed since.
	c.want("PLACE.DEL sieve-abs unit-0000", "(int) 1")
	c.want("DEL sieve-abs", "(int) 1")
	slow.nc.Close()
	if got := preview.reply(); !strings.HasPrefix(got, `["moved" "9.9009900`) || strings.Count(got, `"unit-0000"`) != 1999 {
		t.Errorf("preview: got %.100s", got)
	}
}
