package geo

import "math"

// point is a place on earth, in degrees.
type point struct{ lon, lat float64 }

// The bounds of coordinates. Latitudes end where the Mercator projection becomes a
// square (EPSG:3857), so that cells are squares on the map.
const (
	maxLon = 180
	maxLat = 85.05112878
)

// valid reports whether the point is within the bounds.
func (p point) valid() bool {
	return math.Abs(p.lon) <= maxLon && math.Abs(p.lat) <= maxLat
}

// levelBits is the number of bits of each coordinate in a score: together they are
// exact in a float64.
const levelBits = 26

// cell is a cell of the grid of 2^level cells in each direction.
type cell struct {
	x, y  uint32 // from the west, and from the south
	level uint
}

// cellOf returns the cell of a point in a grid of latitudes up to a bound.
func cellOf(p point, level uint, latBound float64) cell {
	cells := float64(uint64(1) << level)
	return cell{
		x: uint32((p.lon + maxLon) / (2 * maxLon) * cells), y: uint32((p.lat + latBound) / (2 * latBound) * cells), level: level,
	}
}

// bits interleaves the coordinates of the cell: those of x are the odd ones.
func (c cell) bits() uint64 { return spread(c.x)<<1 | spread(c.y) }

// cellOfBits is the cell of a level with interleaved coordinates.
func cellOfBits(bits uint64, level uint) cell {
	return cell{x: gather(bits >> 1), y: gather(bits), level: level}
}

// spread puts zeros between the bits of a number (Warren, Hacker's Delight, 7-2).
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// gather is the reverse of spread; it ignores the odd bits.
func gather(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16)
}

// southWest and northEast are the corners of the cell.
func (c cell) southWest() point { return c.corner(0) }
func (c cell) northEast() point { return c.corner(1) }

func (c cell) corner(side float64) point {
	part := 1 / float64(uint64(1)<<c.level) // a power of two, so that nothing is lost
	return point{
		lon: -maxLon + (float64(c.x)+side)*part*(2*maxLon), lat: -maxLat + (float64(c.y)+side)*part*(2*maxLat),
	}
}

// centre is the point that stands for all of the cell.
func (c cell) centre() point {
	a, b := c.southWest(), c.northEast()
	return point{lon: within((a.lon+b.lon)/2, maxLon), lat: within((a.lat+b.lat)/2, maxLat)}
}

// within is v, or the bound if that is less. min and max ask for NaN and signs of zero,
// which a cell does not have.
func within(v, bound float64) float64 {
	if v > bound {
		return bound
	}
	return v
}

// scoreOf is the score of a point.
func scoreOf(p point) float64 { return float64(cellOf(p, levelBits, maxLat).bits()) }

// pointOf is the point of a score.
func pointOf(score float64) point { return cellOfBits(uint64(int64(score)), levelBits).centre() }

// earthRadius is that of a sphere, in meters, as Redis has it.
const earthRadius = 6372797.560856

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }
func degrees(radians float64) float64 { return radians / (math.Pi / 180) }

// distance is the length of the great circle between two points, in meters, by the
// haversine formula.
func distance(a, b point) float64 {
	v := math.Sin((radians(b.lon) - radians(a.lon)) / 2)
	if v == 0 {
		return meridian(a, b)
	}
	lat1, lat2 := radians(a.lat), radians(b.lat)
	u := math.Sin((lat2 - lat1) / 2)
	return 2 * earthRadius * math.Asin(math.Sqrt(u*u+math.Cos(lat1)*math.Cos(lat2)*v*v))
}

// meridian is the distance between the latitudes of two points, in meters.
func meridian(a, b point) float64 {
	return earthRadius * math.Abs(radians(b.lat)-radians(a.lat))
}
