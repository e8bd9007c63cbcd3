package slab

import "testing"

// takeUntil takes pages of the pool until n were handed out, counting page 0.
func takeUntil(p *Pool, n int) {
	for p.take(pageBytes) != uint32(n-1)*quarters {
	}
}

func TestBigPagesAreTouchedAheadOfTheirUse(t *testing.T) {
	var p Pool
	defer p.Close()
	asked := 0
	p.mu.wanted = func() { asked++ }
	takeUntil(&p, regionPages-1)
	if b := p.nextAhead(); b != nil || asked != 0 {
		t.Fatalf("the first region has small pages: %d bytes, asked %d times", len(b), asked)
	}
	takeUntil(&p, regionPages)
	if asked != 1 {
		t.Fatalf("before the second region: asked %d times, want 1", asked)
	}
	// Each byte is touched once, in order, and aheadBytes of them are ahead.
	const total = 3 * regionBytes
	pages, touched := regionPages, regionBytes
	for ; touched < total; pages++ {
		for b := p.nextAhead(); b != nil; b = p.nextAhead() {
			region, at := touched/regionBytes, touched%regionBytes
			if len(b) != bigPageBytes || &b[0] != &p.mu.maps[region][at] {
				t.Fatalf("after %d bytes: %d bytes elsewhere", touched, len(b))
			}
			touched += len(b)
		}
		if used := pages * pageBytes; touched < used+aheadBytes || touched > used+aheadBytes+bigPageBytes {
			t.Fatalf("%d bytes are used, %d touched", used, touched)
		}
		takeUntil(&p, pages+1)
	}
	if most := 1 + (total-regionBytes)/pageBytes; asked > most {
		t.Errorf("asked %d times for %d pages", asked, most)
	}
}

// A load may be faster than the task: what is in use is touched already.
func TestTouchingAheadSkipsWhatIsInUse(t *testing.T) {
	var p Pool
	defer p.Close()
	takeUntil(&p, regionPages+5*bigPageBytes/pageBytes+1)
	b := p.nextAhead()
	if want := &p.mu.maps[1][5*bigPageBytes]; b == nil || &b[0] != want {
		t.Errorf("touches what is in use: %p, want %p", b, want)
	}
}

func TestTouchedMemoryKeepsItsContent(t *testing.T) {
	b := Map(regionBytes)
	defer Unmap(b)
	b[1], b[regionBytes-1] = 1, 2
	touchMemory(b)
	if b[0] != 0 || b[1] != 1 || b[regionBytes-1] != 2 {
		t.Errorf("got %d, %d and %d", b[0], b[1], b[regionBytes-1])
	}
}
