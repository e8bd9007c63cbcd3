package sim

import (
	"context"
	"errors"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

func TestTrialEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	trial := Trial{Policy: policy(t, "index"), Estimator: estimator(t, "fixed"), Told: nodes(pow2(5)...), Probes: 1, Steps: 1 << 40}
	trial.Progress = func(int64) { cancel() }
	if _, err := trial.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled trial: got %v, want %v", err, context.Canceled)
	}
}

// ending is a context that ends when it is looked at for the left-th time.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left <= 0 {
		return context.Canceled
	}
	return nil
}

// In the first look after the end the work ends, be it for the bounds, the ages
// of the steady state, the entering of nodes or the first steps.
func TestSetUpAndBoundsEndWithTheirContext(t *testing.T) {
	const n = 3*nodesALook + 1
	told := manyEphemeral(n)
	for _, name := range []string{"index", "whittle", "freshness"} {
		p := policy(t, name)
		trial := Trial{Policy: p, Estimator: estimator(t, "fixed"), Model: ModelOf(&p), Told: told, Probes: 1, Steady: true, Steps: 1 << 40}
		for _, looks := range testscale.Some([]int{1, 3, 5, 7, 9, 12}) {
			ctx := &ending{context.Background(), looks}
			if _, err := trial.Run(ctx); !errors.Is(err, context.Canceled) || ctx.left < -1 {
				t.Errorf("%s: trial that ends at look %d: %v, %d looks more", name, looks, err, -ctx.left)
			}
			ctx = &ending{context.Background(), looks}
			if b, err := BoundsOf(ctx, trial.Model, told, 1); !errors.Is(err, context.Canceled) || ctx.left < -1 {
				t.Errorf("%s: bounds that end at look %d: %+v, %v, %d looks more", name, looks, b, err, -ctx.left)
			}
		}
	}
}
