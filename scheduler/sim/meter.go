package sim

import "context"

// meter adds up what a trial measures, whole and in parts.
type meter struct {
	t     *Trial
	sum   float64
	part  float64
	begin int64 // where the part began
	next  int64 // where it ends
	out   Outcome
}

func newMeter(t *Trial) *meter {
	m := &meter{t: t, begin: t.Warm}
	m.next = m.end(0)
	return m
}

// end is the step in which part k of the curve ends. Without a curve, the end
// of each of boundParts parts, so that the bound is looked at there.
func (m *meter) end(k int) int64 {
	points := int64(m.t.Points)
	if points == 0 {
		points = boundParts
	}
	points = min(points, m.t.Steps)
	whole, rest := m.t.Steps/points, m.t.Steps%points
	return m.t.Warm + whole*int64(k+1) + rest*int64(k+1)/points
}

// boundParts is how often the bound of changing rates is looked at when no
// curve is asked for.
const boundParts = 20

// add takes in a measured step. It returns the error of ctx if that ends while a
// bound is looked at.
func (m *meter) add(ctx context.Context, earned float64, r *run, begun int64) error {
	value := r.cost
	if m.t.Model.Rewards() {
		value = earned
	}
	m.part += value
	m.out.Probes += int64(len(r.picks))
	if begun < m.next {
		return nil
	}
	p := Point{Step: begun, Value: m.part / float64(begun-m.begin)}
	if !m.t.Change.none() {
		var err error
		if p.Bound, err = r.world.bound(ctx, m.t.Probes); err != nil {
			return err
		}
	}
	m.out.Curve = append(m.out.Curve, p)
	m.sum += m.part
	m.part, m.begin, m.next = 0, begun, m.end(len(m.out.Curve))
	return nil
}

func (m *meter) outcome() Outcome {
	m.out.Value = (m.sum + m.part) / float64(m.t.Steps)
	for _, p := range m.out.Curve {
		m.out.Bound += p.Bound / float64(len(m.out.Curve))
	}
	if m.t.Points == 0 {
		m.out.Curve = nil
	}
	return m.out
}
