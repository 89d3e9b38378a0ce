"""What a SELECT becomes once flattened: aliases, conditions and output columns, names resolved."""

from __future__ import annotations

import pyarrow as pa
import pytest

from joingraph.common.errors import ViewError
from joingraph.expressions.show import show
from joingraph.sql import define
from joingraph.sql.ddl.tables import declare_all
from joingraph.sql.definition import Definition

TABLES = declare_all(
    {
        "tweet": "CREATE TABLE tweet (tweetId BIGINT, userId BIGINT, text STRING)",
        "retweet": "CREATE TABLE retweet (tweetId BIGINT, userId BIGINT)",
        "follower": "CREATE TABLE follower (userId BIGINT, followerId BIGINT)",
    }
)

USING = (
    "SELECT * FROM (SELECT text, tweetId FROM tweet) t "
    "JOIN (SELECT tweetId FROM retweet) r USING (tweetId)"
)


def aliases(found: Definition) -> list[str]:
    """Write aliases with their tables."""
    return [f"{alias.name} = {alias.table}" for alias in found.aliases]


def conditions(found: Definition) -> list[str]:
    """Write conditions as SQL."""
    return [show(each) for each in found.conditions]


def output(found: Definition) -> list[str]:
    """Write output columns as SQL, each after its name."""
    return [f"{each.name}: {show(each.value)}" for each in found.output]


def test_a_join_gives_its_aliases_its_conjuncts_and_its_columns() -> None:
    found = define(
        "SELECT f.followerId, T.text FROM follower f JOIN tweet T ON f.userId = T.userId "
        "WHERE T.tweetId > 3 AND (T.text = 'x' AND f.userId = 1)",
        TABLES,
    )
    assert aliases(found) == ["f = follower", "T = tweet"]
    assert conditions(found) == [
        "f.userId = T.userId",
        "T.tweetId > 3",
        "T.text = 'x'",
        "f.userId = 1",
    ]
    assert output(found) == ["followerId: f.followerId", "text: T.text"]
    assert found.schema == pa.schema([("followerId", pa.int64()), ("text", pa.string())])


def test_create_view_names_the_view_and_its_columns() -> None:
    found = define(
        "CREATE OR REPLACE VIEW db.v (id, words) AS SELECT tweetId, text FROM tweet", TABLES
    )
    assert found.name == "db.v"
    assert output(found) == ["id: tweet.tweetId", "words: tweet.text"]


def test_a_bare_select_is_called_view() -> None:
    assert define("SELECT text FROM tweet", TABLES).name == "view"


def test_names_are_found_whatever_their_case_and_keep_the_declared_spelling() -> None:
    found = define("SELECT TWEETID, `Tweet`.`TEXT` FROM TWEET", TABLES)
    assert [each.name for each in found.output] == ["tweetId", "text"]
    assert aliases(found) == ["TWEET = tweet"]


def test_an_unqualified_column_of_using_is_the_left_one() -> None:
    found = define("SELECT tweetId FROM tweet t JOIN retweet r USING (tweetId)", TABLES)
    assert conditions(found) == ["t.tweetId = r.tweetId"]
    assert output(found) == ["tweetId: t.tweetId"]


def test_star_lists_the_columns_of_using_once_and_first() -> None:
    assert output(define(USING, TABLES)) == ["tweetId: t.tweet.tweetId", "text: t.tweet.text"]


def test_star_keeps_the_order_of_columns_where_duckdb_and_sqlite_do() -> None:
    for dialect in ("duckdb", "sqlite"):
        found = define(USING, TABLES, dialect)
        assert [each.name for each in found.output] == ["text", "tweetId"]


def test_natural_join_equates_every_shared_column() -> None:
    found = define("SELECT * FROM tweet t NATURAL JOIN retweet r", TABLES)
    assert conditions(found) == ["t.tweetId = r.tweetId", "t.userId = r.userId"]
    assert [each.name for each in found.output] == ["tweetId", "userId", "text"]


def test_a_third_using_meets_the_column_already_joined() -> None:
    found = define(
        "SELECT userId FROM tweet t JOIN retweet r USING (userId) JOIN follower f USING (userId)",
        TABLES,
    )
    assert conditions(found) == ["t.userId = r.userId", "t.userId = f.userId"]


def test_both_sides_of_using_stay_in_reach_by_their_qualified_names() -> None:
    found = define("SELECT r.tweetId FROM tweet t JOIN retweet r USING (tweetId)", TABLES)
    assert output(found) == ["tweetId: r.tweetId"]


def test_commas_and_cross_joins_are_products() -> None:
    found = define("SELECT t.text FROM tweet t, retweet r CROSS JOIN follower f", TABLES)
    assert aliases(found) == ["t = tweet", "r = retweet", "f = follower"]
    assert found.conditions == ()


def test_the_comma_binds_weaker_than_join_in_duckdb_and_as_strong_in_spark() -> None:
    sql = "SELECT t.text FROM tweet t, retweet r JOIN follower f ON t.userId = f.userId"
    assert conditions(define(sql, TABLES)) == ["t.userId = f.userId"]
    with pytest.raises(ViewError, match='no table or alias is called "t" here'):
        define(sql, TABLES, "duckdb")


def test_parenthesised_joins_keep_their_aliases_in_reach() -> None:
    found = define(
        "SELECT f.followerId FROM follower f "
        "JOIN (tweet t JOIN retweet r ON t.tweetId = r.tweetId) ON f.userId = r.userId",
        TABLES,
    )
    assert aliases(found) == ["f = follower", "t = tweet", "r = retweet"]
    assert conditions(found) == ["t.tweetId = r.tweetId", "f.userId = r.userId"]


def test_joins_may_be_nested_to_the_right() -> None:
    found = define(
        "SELECT f.followerId FROM follower f JOIN tweet t JOIN retweet r ON t.tweetId = r.tweetId "
        "ON f.userId = t.userId",
        TABLES,
    )
    assert conditions(found) == ["t.tweetId = r.tweetId", "f.userId = t.userId"]


def test_a_named_join_hides_the_names_inside() -> None:
    found = define("SELECT j.text FROM (tweet t JOIN retweet r USING (tweetId)) j", TABLES)
    assert aliases(found) == ["j.t = tweet", "j.r = retweet"]


def test_a_subquery_dissolves_into_aliases_conditions_and_expressions() -> None:
    found = define(
        "SELECT s.next + 1 AS after "
        "FROM (SELECT tweetId + 1 AS next FROM tweet WHERE text = 'x') s "
        "JOIN retweet r ON r.tweetId = s.next",
        TABLES,
    )
    assert aliases(found) == ["s.tweet = tweet", "r = retweet"]
    assert conditions(found) == ["s.tweet.text = 'x'", "r.tweetId = (s.tweet.tweetId + 1)"]
    assert output(found) == ["after: (s.tweet.tweetId + 1) + 1"]


def test_a_query_used_twice_is_two_sets_of_aliases() -> None:
    found = define(
        "WITH r AS (SELECT tweetId AS id FROM tweet WHERE text = 'x') "
        "SELECT a.id, b.id AS other FROM r a JOIN r b ON a.id = b.id",
        TABLES,
    )
    assert aliases(found) == ["a.tweet = tweet", "b.tweet = tweet"]
    assert conditions(found) == [
        "a.tweet.text = 'x'",
        "b.tweet.text = 'x'",
        "a.tweet.tweetId = b.tweet.tweetId",
    ]


def test_queries_of_with_see_those_before_them_and_hide_tables() -> None:
    found = define(
        "WITH tweet AS (SELECT tweetId FROM tweet WHERE userId = 1), "
        "s (k) AS (SELECT tweetId FROM tweet) SELECT k FROM s",
        TABLES,
    )
    assert aliases(found) == ["s.tweet.tweet = tweet"]
    assert conditions(found) == ["s.tweet.tweet.userId = 1"]
    assert output(found) == ["k: s.tweet.tweet.tweetId"]


def test_a_with_inside_a_subquery_hides_the_outer_one() -> None:
    found = define(
        "WITH r AS (SELECT userId AS id FROM tweet) "
        "SELECT id FROM (WITH r AS (SELECT tweetId AS id FROM tweet) SELECT id FROM r) s",
        TABLES,
    )
    assert output(found) == ["id: s.r.tweet.tweetId"]


def test_aliases_of_unnamed_subqueries_are_told_apart() -> None:
    found = define("SELECT text FROM (SELECT text FROM tweet), (SELECT userId FROM tweet)", TABLES)
    assert aliases(found) == ["subquery.tweet = tweet", "subquery.tweet#2 = tweet"]


def test_an_alias_with_a_dot_is_not_mistaken_for_one_inside_a_subquery() -> None:
    found = define(
        "SELECT `s.tweet`.text FROM (SELECT userId FROM tweet) s JOIN tweet `s.tweet` ON TRUE",
        TABLES,
    )
    assert aliases(found) == ["s.tweet = tweet", "s.tweet#2 = tweet"]
    assert output(found) == ["text: s.tweet#2.text"]


def test_a_table_may_have_a_dotted_name() -> None:
    tables = declare_all({"db.tweet": "CREATE TABLE db.tweet (tweetId BIGINT)"})
    assert aliases(define("SELECT tweet.tweetId FROM db.tweet", tables)) == ["tweet = db.tweet"]


def test_a_column_without_a_name_is_called_by_its_text() -> None:
    found = define("SELECT tweetId + 1, (text), 'a' FROM tweet", TABLES)
    assert [each.name for each in found.output] == ["tweetId + 1", "text", "'a'"]


def test_what_is_always_true_is_no_condition_and_what_is_never_true_stays() -> None:
    assert define("SELECT text FROM tweet JOIN retweet ON TRUE", TABLES).conditions == ()
    assert conditions(define("SELECT text FROM tweet WHERE FALSE", TABLES)) == ["FALSE"]
    assert conditions(define("SELECT text FROM tweet WHERE NULL", TABLES)) == ["NULL"]


def test_names_with_hostile_characters_are_data() -> None:
    name = "x` \x00\u202e\U0001f600'; DROP TABLE tweet; --" + "y" * 10_000
    tables = declare_all({"t": pa.schema([(name, pa.int64())])})
    found = define(f"SELECT `{name.replace('`', '``')}` FROM t", tables)
    assert [each.name for each in found.output] == [name]


def test_tables_that_differ_in_case_only_are_refused() -> None:
    tables = {"a": TABLES["tweet"], "A": TABLES["retweet"]}
    with pytest.raises(ViewError, match='tables "a" and "A" differ in case only'):
        define("SELECT text FROM a", tables)


def test_a_view_must_be_a_text() -> None:
    with pytest.raises(ViewError, match="SQL is a text, found NoneType"):
        define(None, TABLES)  # type: ignore[arg-type]  # what a caller may do


def test_an_unknown_dialect_is_refused_with_the_list_of_dialects() -> None:
    with pytest.raises(ViewError, match="no dialect 'mysql'; there are spark, duckdb"):
        define("SELECT text FROM tweet", TABLES, "mysql")
