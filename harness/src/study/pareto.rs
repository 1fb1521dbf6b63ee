//! Two figures of each structure at once: which structures no other beats in both.

use super::series::Series;

/// A structure with two figures of which less is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The structure.
    pub structure: String,
    /// The first figure, the median over its blocks or repeats.
    pub x: f64,
    /// The second.
    pub y: f64,
    /// The structures that are at least as good in both and better in one; none for the non-dominated set.
    pub dominated_by: Vec<String>,
}

/// The structures that have both figures, each with those that dominate it.
pub fn points(xs: &[Series], ys: &[Series]) -> Vec<Point> {
    let point = |x: &Series| {
        let y = ys.iter().find(|y| y.structure == x.structure && y.run == x.run)?;
        Some(Point {
            structure: x.structure.clone(),
            x: x.median()?,
            y: y.median()?,
            dominated_by: Vec::new(),
        })
    };
    let mut points: Vec<Point> = xs.iter().filter_map(point).collect();
    let known = points.clone();
    for point in &mut points {
        let better = known.iter().filter(|other| dominates(other, point));
        point.dominated_by = better.map(|other| other.structure.clone()).collect();
    }
    points
}

fn dominates(a: &Point, b: &Point) -> bool {
    a.x <= b.x && a.y <= b.y && (a.x < b.x || a.y < b.y)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(structure: &str, x: f64, y: f64) -> Point {
        Point { structure: structure.into(), x, y, dominated_by: Vec::new() }
    }

    #[test]
    fn equal_points_do_not_dominate_each_other() {
        let (a, b, c) = (point("a", 1.0, 1.0), point("b", 1.0, 1.0), point("c", 1.0, 2.0));
        assert!(!dominates(&a, &b) && !dominates(&b, &a));
        assert!(dominates(&a, &c) && !dominates(&c, &a));
        assert!(!dominates(&point("d", 0.5, 3.0), &c), "better in one and worse in the other");
    }
}
