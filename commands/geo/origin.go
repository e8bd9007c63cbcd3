package geo

import "math"

// origin is a point from which the distances to many others are measured.
type origin struct {
	point
	sin, cos float64 // of its latitude
	north    float64 // the most meters that a latitude may be away
	chord    float64 // the most that the square of half the chord may be, of the unit sphere
}

// originAt returns the origin of distances up to so many meters.
func originAt(p point, most float64) origin {
	sin, cos := math.Sincos(radians(p.lat))
	most *= 1 + 1e-9 // more than formulas may differ
	half := math.Sin(min(most/(2*earthRadius), math.Pi/2))
	return origin{p, sin, cos, most, half * half}
}

// near is the difference of coordinates, in radians, up to which the series below are
// exact to the last bits of a float64.
const near = 0.1

// distance returns what the function of this name does, for points near by at a fraction
// of the cost: as many terms of the Taylor series are enough there, and the cosine of
// the other latitude follows from the difference of the two. ok is false for most
// points that are farther than the origin is meant for, which cost less.
func (o *origin) distance(p point) (meters float64, ok bool) {
	lat, lon := radians(p.lat)-radians(o.lat), radians(p.lon)-radians(o.lon)
	north := earthRadius * math.Abs(lat)
	switch {
	case north > o.north:
		return 0, false
	case math.Abs(lat) > near || math.Abs(lon) > near:
		return distance(o.point, p), true
	case lon == 0:
		return north, true
	}
	u, v := sinNear(lat/2), sinNear(lon/2)
	cos := o.cos*cosNear(lat) - o.sin*sinNear(lat)
	chord := u*u + o.cos*cos*v*v
	if chord > o.chord {
		return 0, false
	}
	return 2 * earthRadius * asinNear(math.Sqrt(chord)), true
}

func sinNear(x float64) float64 {
	y := x * x
	return x * (1 + y*(-1./6+y*(1./120+y*(-1./5040+y*(1./362880)))))
}

func cosNear(x float64) float64 {
	y := x * x
	return 1 + y*(-1./2+y*(1./24+y*(-1./720+y*(1./40320))))
}

func asinNear(x float64) float64 {
	y := x * x
	return x * (1 + y*(1./6+y*(3./40+y*(15./336+y*(105./3456+y*(945./42240+y*(10395./599040)))))))
}
