"""Queries over a star of sales, items and stores, in the shapes of TPC-DS. Each names the order of its rows."""

QUERIES = {
    "count": "select count(*), sum(quantity), min(id), max(id) from sales",
    "revenue by year": """
        select year, count(*), sum(quantity * price) from sales group by year order by year""",
    "brands of a category by year": """
        select s.year, i.brand, sum(s.price) revenue from sales s join items i on s.item = i.item
        where i.category = 'c3' group by s.year, i.brand order by s.year, revenue desc, i.brand limit 50""",
    "averages by item": """
        select i.item, avg(s.quantity), avg(s.price) from sales s join items i on s.item = i.item
        where i.category = 'c1' group by i.item order by i.item limit 100""",
    "brands by state": """
        select i.brand, t.state, sum(s.price) revenue
        from sales s join items i on s.item = i.item join stores t on s.store = t.store
        group by i.brand, t.state order by revenue desc, i.brand, t.state limit 100""",
    "rollup of categories and states": """
        select i.category, t.state, sum(s.quantity)
        from sales s join items i on s.item = i.item join stores t on s.store = t.store
        group by rollup(i.category, t.state) order by i.category, t.state""",
    "categories of a year": """
        select i.category, sum(s.price) revenue from sales s join items i on s.item = i.item
        where s.year = 2021 group by i.category order by revenue desc, i.category""",
    "best items of a store": """
        select * from (
            select item, avg(price) average, rank() over (order by avg(price) desc, item) place
            from sales where store = 4 group by item)
        where place <= 20 order by place""",
    "items that sell badly": """
        select store, item, revenue from (
            select store, item, sum(price) revenue, avg(sum(price)) over (partition by store) usual
            from sales group by store, item)
        where revenue < 0.1 * usual order by store, item limit 100""",
    "faithful customers": """
        select customer, count(distinct item), sum(price) spent from sales
        group by customer having count(*) > 3 order by spent desc, customer limit 100""",
    "predicates that reach the files": """
        select store, sum(quantity) from sales where year = 2023 and price > 900 group by store order by store""",
    "cases and distinct notes": """
        select sum(case when quantity between 1 and 20 then 1 else 0 end),
               sum(case when quantity between 21 and 80 then 1 else 0 end), count(distinct note)
        from sales where year in (2020, 2024)""",
    "some sales": "select * from sales where id in (5, 77770, 200000) order by id, quantity",
}
