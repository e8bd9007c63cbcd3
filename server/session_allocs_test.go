//go:build !race

package server

import "testing"

// Not under the race detector, with which pools lose things on purpose.
func TestHotCommandsAllocateNothing(t *testing.T) {
	srv := idleServer(t)
	f := newFeeder(srv)
	for _, c := range hotCommands {
		input := pipelines(100, c.format)
		for _, p := range input {
			f.run(t, p)
		}
		i := 0
		allocs := testing.AllocsPerRun(1000, func() {
			f.run(t, input[i%len(input)])
			i++
		})
		if allocs > 0.5 {
			t.Errorf("a pipeline of %d %s allocates %.1f times, want 0", pipelineDepth, c.name, allocs)
		}
	}
}
