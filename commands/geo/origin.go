package geo

import "math"

// origin is a point from which the distances to many others are measured.
type origin struct {
	point
	sin, cos float64 // of its latitude
}

func originAt(p point) origin {
	sin, cos := math.Sincos(radians(p.lat))
	return origin{p, sin, cos}
}

// near is the difference of coordinates, in radians, up to which the series below are
// exact to the last bits of a float64.
const near = 0.1

// distance returns what the function of this name does, for points near by at a fraction
// of the cost: as many terms of the Taylor series are enough there, and the cosine of
// the other latitude follows from the difference of the two.
func (o *origin) distance(p point) float64 {
	lat, lon := radians(p.lat)-radians(o.lat), radians(p.lon)-radians(o.lon)
	switch {
	case math.Abs(lat) > near || math.Abs(lon) > near:
		return distance(o.point, p)
	case lon == 0:
		return meridian(o.point, p)
	}
	u, v := sinNear(lat/2), sinNear(lon/2)
	cos := o.cos*cosNear(lat) - o.sin*sinNear(lat)
	return 2 * earthRadius * asinNear(math.Sqrt(u*u+o.cos*cos*v*v))
}

func sinNear(x float64) float64 {
	y := x * x
	return x * (1 + y*(-1./6+y*(1./120+y*(-1./5040+y/362880))))
}

func cosNear(x float64) float64 {
	y := x * x
	return 1 + y*(-1./2+y*(1./24+y*(-1./720+y/40320)))
}

func asinNear(x float64) float64 {
	y := x * x
	return x * (1 + y*(1./6+y*(3./40+y*(15./336+y*(105./3456+y*(945./42240+y*10395/599040))))))
}
