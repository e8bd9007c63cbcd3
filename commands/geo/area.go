package geo

import (
	"math"
	"slices"
)

// area is what a search covers: a circle, a box whose sides are along meridians and
// parallels, or a polygon whose sides are straight on the map. Lengths are in units of so many meters.
type area struct {
	centre        point
	box           bool
	radius        float64 // of a circle
	width, height float64 // of a box
	corners       []point // of a polygon; nil: it is none
	unit          float64
}

// origin is the centre, prepared for within.
func (a *area) origin() origin {
	if a.box || a.corners != nil {
		return originAt(a.centre, math.Inf(1))
	}
	return originAt(a.centre, a.radius*a.unit)
}

// within returns the distance of a point from the centre, in meters; ok is false if it
// is out of the area.
func (a *area) within(from *origin, p point) (meters float64, ok bool) {
	if a.corners != nil {
		if !surround(a.corners, p) {
			return 0, false
		}
		meters, _ = from.distance(p)
		return meters, true
	}
	if a.box {
		if meridian(from.point, p) > a.height*a.unit/2 || distance(p, point{from.lon, p.lat}) > a.width*a.unit/2 {
			return 0, false
		}
		meters, _ = from.distance(p)
		return meters, true
	}
	meters, ok = from.distance(p)
	return meters, ok && meters <= a.radius*a.unit
}

// bounds returns the corners of a box of coordinates that has the area. Parallels are
// shorter towards the poles. Of an area with a pole in it the part behind the pole is
// missed, as by Redis.
func (a *area) bounds() (southWest, northEast point) {
	if a.corners != nil {
		return frame(a.corners)
	}
	width, height := a.radius*a.unit, a.radius*a.unit
	if a.box {
		width, height = a.width/2*a.unit, a.height/2*a.unit
	}
	lat := degrees(height / earthRadius)
	edge := a.centre.lat + lat
	if a.centre.lat < 0 {
		edge = a.centre.lat - lat
	}
	lon := degrees(width / earthRadius / math.Cos(radians(edge)))
	return point{a.centre.lon - lon, a.centre.lat - lat}, point{a.centre.lon + lon, a.centre.lat + lat}
}

// reach is the distance from the centre to the farthest point, in meters.
func (a *area) reach() float64 {
	if a.corners != nil {
		return reachOf(a.corners, a.centre)
	}
	if a.box {
		return math.Sqrt(a.width/2*(a.width/2)+a.height/2*(a.height/2)) * a.unit
	}
	return a.radius * a.unit
}

// halfEquator is half the length of the equator in the Mercator projection, in meters:
// the extent of half the map.
const halfEquator = 20037726.37

// level estimates the finest grid whose cells, three in each direction, cover the
// area. Cells become narrower towards the poles.
func (a *area) level() uint {
	reach := a.reach()
	if reach == 0 {
		return levelBits
	}
	level := -1
	for ; reach < halfEquator; reach *= 2 {
		level++
	}
	switch lat := math.Abs(a.centre.lat); {
	case lat > 80:
		level -= 2
	case lat > 66:
		level--
	}
	return uint(max(1, min(level, levelBits)))
}

// around are the steps to the neighbours of a cell, eastwards and northwards, in the
// order in which Redis looks at them: with ANY the first members that are found count.
var around = [9][2]int{{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}}

// neighbour is the cell some steps away. The grid has no ends.
func (c cell) neighbour(step [2]int) cell {
	mask := uint32(1)<<c.level - 1
	return cell{x: (c.x + uint32(step[0])) & mask, y: (c.y + uint32(step[1])) & mask, level: c.level}
}

// span is the scores of the members in a cell: from the first up to that of the next cell.
type span struct{ from, to float64 }

// spans appends those of the cells that cover the area.
func (a *area) spans(to []span) []span {
	southWest, northEast := a.bounds()
	c := cellOf(a.centre, a.level(), maxLat)
	if c.level > 1 && !c.surrounds(southWest, northEast) {
		c = cellOf(a.centre, c.level-1, maxLat)
	}
	low, high := c.southWest(), c.northEast()
	for _, step := range around {
		// A neighbour on a side that the centre's cell has to spare is not needed.
		if c.level >= 2 && (step[0] < 0 && low.lon < southWest.lon || step[0] > 0 && high.lon > northEast.lon ||
			step[1] < 0 && low.lat < southWest.lat || step[1] > 0 && high.lat > northEast.lat) {
			continue
		}
		// In a grid of two by two a cell is its neighbour's neighbour twice.
		if s := c.neighbour(step).span(); c.level >= 2 || !slices.Contains(to, s) {
			to = append(to, s)
		}
	}
	return to
}

// surrounds reports whether a box lies within a cell and its neighbours.
func (c cell) surrounds(southWest, northEast point) bool {
	north, south := c.neighbour([2]int{0, 1}), c.neighbour([2]int{0, -1})
	east, west := c.neighbour([2]int{1, 0}), c.neighbour([2]int{-1, 0})
	return north.northEast().lat >= northEast.lat && south.southWest().lat <= southWest.lat &&
		east.northEast().lon >= northEast.lon && west.southWest().lon <= southWest.lon
}

func (c cell) span() span {
	shift, bits := 2*(levelBits-c.level), c.bits()
	return span{float64(bits << shift), float64((bits + 1) << shift)}
}
