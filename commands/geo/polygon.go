package geo

import (
	"math"
	"math/big"

	"github.com/vigildb/vigil/commands"
)

// replyLongPoint is replyPoint with the digits of Valkey, which alone has polygons.
func replyLongPoint(c *commands.Ctx, p point) {
	if c.Reply.Proto() == 3 {
		replyPoint(c, p)
		return
	}
	c.Reply.Array(2)
	c.Reply.Bulk(commands.AppendLongDouble(nil, big.NewFloat(p.lon)))
	c.Reply.Bulk(commands.AppendLongDouble(nil, big.NewFloat(p.lat)))
}

// middle returns the point in the direction of the mean of the corners, as vectors from the centre of the
// earth.
func middle(corners []point) point {
	var x, y, z float64
	for _, p := range corners {
		lon, lat := radians(p.lon), radians(p.lat)
		x += math.Cos(lat) * math.Cos(lon)
		y += math.Cos(lat) * math.Sin(lon)
		z += math.Sin(lat)
	}
	return point{degrees(math.Atan2(y, x)), degrees(math.Atan2(z, math.Hypot(x, y)))}
}

// surround reports whether a point lies within a polygon: a line to the east of it crosses an odd number of
// sides.
func surround(corners []point, p point) (inside bool) {
	before := corners[len(corners)-1]
	for _, c := range corners {
		if (c.lat > p.lat) != (before.lat > p.lat) && p.lon < (before.lon-c.lon)*(p.lat-c.lat)/(before.lat-c.lat)+c.lon {
			inside = !inside
		}
		before = c
	}
	return inside
}

// frame returns the corners of the smallest box of coordinates that has a polygon.
func frame(corners []point) (southWest, northEast point) {
	southWest, northEast = corners[0], corners[0]
	for _, c := range corners[1:] {
		southWest = point{min(southWest.lon, c.lon), min(southWest.lat, c.lat)}
		northEast = point{max(northEast.lon, c.lon), max(northEast.lat, c.lat)}
	}
	return southWest, northEast
}

// frameReach is how much farther than the points that reachOf looks at others of the frame may be: sides
// along parallels are no shortest lines.
const frameReach = 1.1

// reachOf is the distance in meters that no point of a polygon is farther from its centre.
func reachOf(corners []point, centre point) (reach float64) {
	southWest, northEast := frame(corners)
	for _, lon := range []float64{southWest.lon, centre.lon, northEast.lon} {
		for _, lat := range []float64{southWest.lat, centre.lat, northEast.lat} {
			reach = max(reach, distance(centre, point{lon, lat}))
		}
	}
	return reach * frameReach
}
