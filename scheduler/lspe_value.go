package scheduler

import "math"

// valueFit fits P2's value function V = sum over m of r_m phi_m(x) to the Poisson
// equation V(x) = sum of x - beta + E V(next x), by LSPE(0) (H. Yu and D. P.
// Bertsekas, "Convergence results for some temporal difference methods based on
// least squares", IEEE Trans. Automatic Control 54, 2009). With phi the features
// of a state, phi' of the next one and means over all n transitions so far
//
//	B = mean of phi phi^T    A = mean of phi (phi' - phi)^T
//	b = mean of phi (g - eta)    eta = mean of g
//
// where g is the sum of the states over that of their limits,
//
//	r += lspeGain (B^T B + delta I)^-1 B^T (A r + b)
//
// P2 prints B^-1, says that B is nearly singular, and gives this remedy (after
// Tikhonov) with an unnamed small delta.
//
// The features are P2's, all states and all products of two, for up to
// lspeNodes nodes: 27 features for six. They would be n (n+3)/2 in general. For
// more nodes they are the mean of the states, the mean of their squares and the
// square of the mean, so that memory is bounded and Learn costs O(n).
//
// All is kept in the memo of the table:
//
//	features  n  eta  r...  b...  B...  A...
//
// A memo of another shape, or with numbers out of bounds, is given up: the fit
// begins again when nodes come or go.
type valueFit struct {
	phi, after, residue []float64 // reused: features now and of the next state, B^T (A r + b)
	normal              []float64 // reused: B^T B + delta I
}

const (
	// lspeNodes is the greatest number of nodes that P2's features are used for.
	lspeNodes = 6
	// lspeGain is gamma of P2.
	lspeGain = 0.05
	// lspeDelta is delta: eigenvalues of B below its root, 0.01, are damped.
	// Features are about 1, so B's trace is about their number.
	lspeDelta = 1e-4
	// lspeWeights bounds r. V is worth a few steps' g, which is about 1.
	lspeWeights = 100
	// lspeMeans bounds what is in the means: products of states of at most
	// lspeBound limits.
	lspeMeans = 1e4
)

const (
	fitFeatures = iota
	fitCount
	fitEta
	fitWeights
)

func (f *valueFit) bytes() int {
	return 8 * (cap(f.phi) + cap(f.after) + cap(f.residue) + cap(f.normal))
}

// features appends those of states to dst.
func features(dst, states []float64) []float64 {
	if len(states) > lspeNodes {
		mean, square := 0.0, 0.0
		for _, x := range states {
			mean += x
			square += float64(x * x)
		}
		n := float64(len(states))
		return append(dst, mean/n, square/n, mean/n*(mean/n))
	}
	dst = append(dst, states...)
	for i, x := range states {
		for _, y := range states[i:] {
			dst = append(dst, x*y)
		}
	}
	return dst
}

// update takes in one transition, in which the states made g, and returns V of
// the next state and n.
func (f *valueFit) update(memo *[]float64, now, next []float64, g float64) (value, count float64) {
	f.phi, f.after = features(f.phi[:0], now), features(f.after[:0], next)
	n := len(f.phi)
	m := fitMemo(memo, n)
	r, b := m[fitWeights:fitWeights+n], m[fitWeights+n:fitWeights+2*n]
	mean := m[fitWeights+2*n : fitWeights+2*n+n*n] // B
	drift := m[fitWeights+2*n+n*n:]                // A
	m[fitCount]++
	step := 1 / m[fitCount]
	for i, x := range f.phi {
		b[i] = toward(b[i], x*(g-m[fitEta]), step)
		for j, y := range f.phi {
			mean[i*n+j] = toward(mean[i*n+j], x*y, step)
			drift[i*n+j] = toward(drift[i*n+j], x*(f.after[j]-y), step)
		}
	}
	m[fitEta] = toward(m[fitEta], g, step)
	f.solve(r, b, mean, drift)
	for i, y := range f.after {
		r[i] = clamp(r[i]+float64(lspeGain*f.residue[i]), lspeWeights)
		value += float64(r[i] * y)
	}
	return value, m[fitCount]
}

// toward moves a mean by a step towards v, within bounds.
func toward(mean, v, step float64) float64 {
	return clamp(mean+float64(step*(v-mean)), lspeMeans)
}

// fitMemo is the memo of a fit of n features: the one there is, or a new one.
func fitMemo(memo *[]float64, n int) []float64 {
	m := *memo
	sane := len(m) == fitWeights+2*n+2*n*n && m[fitFeatures] == float64(n) &&
		m[fitCount] >= 0 && m[fitCount] < MaxStep
	if sane {
		for i, v := range m[fitEta:] {
			bound := float64(lspeMeans)
			if i > 0 && i <= n {
				bound = lspeWeights
			}
			sane = sane && math.Abs(v) <= bound
		}
	}
	if !sane {
		m = make([]float64, fitWeights+2*n+2*n*n)
		m[fitFeatures] = float64(n)
		*memo = m
	}
	return m
}

// solve puts (B^T B + delta I)^-1 B^T (A r + b) into f.residue, by Cholesky's
// factors L L^T. B is symmetric.
func (f *valueFit) solve(r, b, mean, drift []float64) {
	n := len(r)
	f.residue, f.normal = resize(f.residue, 2*n), resize(f.normal, n*n)
	right := f.residue[n:]
	for i := range right {
		right[i] = b[i] + dot(drift[i*n:i*n+n], r)
	}
	out := f.residue[:n]
	for i := range out {
		row := mean[i*n : i*n+n]
		out[i] = dot(row, right)
		for j := range i + 1 {
			f.normal[i*n+j] = dot(row, mean[j*n:j*n+n])
		}
		f.normal[i*n+i] += lspeDelta
	}
	f.factor(n)
	low := f.normal
	for i := range out { // L y = out
		out[i] = (out[i] - dot(low[i*n:i*n+i], out[:i])) / low[i*n+i]
	}
	for i := n - 1; i >= 0; i-- { // L^T x = y
		for j := i + 1; j < n; j++ {
			out[i] -= float64(low[j*n+i] * out[j])
		}
		out[i] /= low[i*n+i]
	}
	f.residue = out
}

// factor overwrites the lower half of f.normal with its factor. Pivots are at
// least delta but for rounding, which is what lowestPivot is for.
func (f *valueFit) factor(n int) {
	const lowestPivot = lspeDelta / 16
	a := f.normal
	for i := range n {
		for j := range i {
			a[i*n+j] = (a[i*n+j] - dot(a[i*n:i*n+j], a[j*n:j*n+j])) / a[j*n+j]
		}
		row := a[i*n : i*n+i]
		a[i*n+i] = math.Sqrt(max(lowestPivot, a[i*n+i]-dot(row, row)))
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

// resize is a slice of n numbers, of list's memory if that is enough.
func resize(list []float64, n int) []float64 {
	if cap(list) < n {
		return make([]float64, n)
	}
	return list[:n]
}
